"""Checks that records, store and executor match the jobs of this home directory."""

import os
import secrets
from pathlib import Path

from danlu.atomic_file import HomeNote, write_temporary
from danlu.errors import Conflict, Refused
from danlu.job.state import JobState
from danlu.messages import get_message
from danlu.records.api import Records
from danlu.service.servers.lease import known_name

FILE = ""  # the identity of the database file in the home directory


def identity_of(records: Records) -> str:
    """Return the identity of a shared database, which does not depend on its address."""
    return records.agree("records", secrets.token_hex(16))


def check_same_records(home: Path, identity: str) -> None:
    """Store the identity of the records in the home directory.

    Raises:
        Conflict: other records hold jobs of this home that run or have unstored outputs. Without
            their records these jobs would be unknown, and their files would be removed.
    """
    note = HomeNote(home / "records")
    before = note.read()
    if before == identity:
        return
    where = get_message("records.another" if before else "records.own_file")
    if any((home / "places").glob("*.json")):
        raise Conflict.from_key("server.jobs_of_others", home=home, where=where)
    work = home / "work"
    kept = sorted(path.name for path in work.glob("[!.]*"))
    if kept:
        raise Conflict.from_key(
            "server.outputs_of_others", work=work, kept=", ".join(kept[:5]), where=where
        )
    note.write(identity)


_STORE_NAME = "store-id"


def check_one_store(store: Path, records: Records) -> None:
    """Write an identity to the store, and compare it with the store of the first server.

    Raises:
        Refused: the servers of these records have another store.
    """
    mark = _mark(store)
    if records.agree("store", mark) != mark:
        raise Refused.from_key("server.other_store", store=store)


def _mark(store: Path) -> str:
    file = store / _STORE_NAME
    store.mkdir(parents=True, exist_ok=True)
    if not file.exists():
        temporary = write_temporary(file, secrets.token_hex(16))
        try:
            os.link(temporary, file)  # of servers that start together, only one succeeds
        except FileExistsError:
            pass
        finally:
            temporary.unlink()
    return file.read_text(encoding="ascii")


def check_executor(home: Path, executor: str, records: Records) -> None:
    """Store the name of the executor in the home directory.

    Raises:
        Conflict: jobs run that another executor started. Only that executor can stop them. If
            they were started again here, two attempts would write the same outputs.
    """
    note = HomeNote(home / "executor")
    before = note.read() or "local"
    if before == executor:
        return
    ours = ("", known_name(home))  # ignore jobs of other servers that share the records
    living = (job for job in records.living() if job.state is not JobState.QUEUED)
    running = [job.name for job in living if job.runs_on in ours]
    if running:
        key = "server.executor_ray" if before == "ray" else "server.executor"
        jobs = ", ".join(running[:5])
        raise Conflict.from_key(key, executor=executor, before=before, jobs=jobs)
    note.write(executor)
