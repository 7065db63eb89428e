"""What SQL needs to know of the database it is said to."""

from contextlib import AbstractContextManager
from typing import Protocol

from sqlalchemy import Connection


class Database(Protocol):
    """Safe to use from several threads.

    Everything done with it raises Unavailable where it does not answer in time.
    """

    def reading(self) -> AbstractContextManager[Connection]:
        """A connection to look with; it never waits for writers."""

    def writing(self, *, new: bool = False) -> AbstractContextManager[Connection]:
        """One transaction, committed at the end of the block, or rolled back on any error.

        ``new``: it adds something. Nobody else adds meanwhile, and it is durable against loss
        of power.
        """

    def now(self, connection: Connection) -> float:
        """The one clock of everybody who uses this database; Unix time."""

    def close(self) -> None:
        """Wait for the write under way and close. Closing twice is no error."""
