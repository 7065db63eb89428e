"""Whether the records are those that know of the jobs of this home."""

import os
import secrets
from pathlib import Path

from danlu.errors import Conflict
from danlu.records.api import Records

_NAME = "records"
FILE = ""  # the one in the home itself


def identity_of(records: Records) -> str:
    """Return what a database of several servers is known by, whatever its address is."""
    return records.agree("records", secrets.token_hex(16))


def check_same_records(home: Path, identity: str) -> None:
    """Note which records know of the jobs of this home.

    Raises:
        Conflict: others know of jobs that run, or whose outputs reached no store. Taken for
            unknown, they would be cleared away.
    """
    note = home / _NAME
    before = note.read_text(encoding="ascii").strip() if note.exists() else FILE
    if before == identity:
        return
    where = "another database" if before else "the file danlu.db in this home"
    if any((home / "places").glob("*.json")):
        raise Conflict(
            f"Jobs run in {home} whose records are in {where}.",
            hint="Wait for them or stop them with records_url as it was before.",
        )
    kept = sorted(path.name for path in (home / "work").glob("[!.]*"))
    if kept:
        raise Conflict(
            f"{home / 'work'} holds outputs of jobs that reached no store: {', '.join(kept[:5])}. "
            f"Their records are in {where}.",
            hint="Remove the jobs with records_url as it was before (danlu rm), "
            "or move the folders elsewhere.",
        )
    temporary = note.with_name(f".{_NAME}.tmp")
    temporary.write_text(identity + "\n", encoding="ascii")
    os.replace(temporary, note)
