"""New records in SQLite files of their own, for tests that need records and no server."""

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection

from danlu.records.schema import Schema
from danlu.records.sql import TIMEOUT, SqlRecords
from danlu.records.sqlite import SqliteDatabase, prepare


class _ClockedDatabase(SqliteDatabase):
    """A SQLite database with the clock of the test."""

    def __init__(self, path: Path, clock: Callable[[], float]) -> None:
        super().__init__(path, TIMEOUT)
        self._clock = clock

    def now(self, connection: Connection) -> float:
        return self._clock()


@contextmanager
def fresh_records() -> Iterator[Callable[..., SqlRecords]]:
    """Yield a function that opens new records; remove all of them at the end."""
    opened: list[SqlRecords] = []
    with tempfile.TemporaryDirectory(dir=_in_memory()) as folder:

        def create(clock: Callable[[], float] = time.time) -> SqlRecords:
            path = Path(folder) / f"{len(opened)}.db"
            prepare(path, TIMEOUT, Schema())
            opened.append(SqlRecords(_ClockedDatabase(path, clock)))
            return opened[-1]

        yield create
        for records in opened:
            records.close()


def _in_memory() -> str | None:
    """Return a folder where writing to disk takes no time, if there is one."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None
