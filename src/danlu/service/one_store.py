"""Servers that share their records must share the store too: a job's code is there."""

import os
import secrets
from pathlib import Path

from danlu.errors import Refused
from danlu.records.api import Records

_NAME = "store-id"


def check_one_store(store: Path, records: Records) -> None:
    """Mark the store, and compare it with what the first server of these records had.

    Raises:
        Refused: it is another one.
    """
    mark = _mark(store)
    if records.agree("store", mark) != mark:
        raise Refused(
            f"The store {store} is not the one the other servers of this database have: what one"
            " of them is given the others would not find.",
            hint="Set store (DANLU_STORE) to the folder they share, on a network disk.",
        )


def _mark(store: Path) -> str:
    file = store / _NAME
    store.mkdir(parents=True, exist_ok=True)
    temporary = store / f".{_NAME}-{os.getpid()}-{secrets.token_hex(4)}"
    if not file.exists():
        temporary.write_text(secrets.token_hex(16), encoding="ascii")
        try:
            os.link(temporary, file)  # of servers that come together one names it
        except FileExistsError:
            pass
        finally:
            temporary.unlink()
    return file.read_text(encoding="ascii")
