"""Servers that share their records: who they are, and how long their word holds."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Lease:
    """The right of one server to move jobs. ``fence`` grows each time the right is given: who
    holds an older number holds nothing."""

    server: str
    fence: int


@dataclass(frozen=True)
class Server:
    """A server as the others see it. ``left``: seconds its lease still holds, below zero since
    it has ended, on the clock of the records."""

    name: str
    fence: int
    left: float
    host: str = ""
    executor: str = ""  # where its tasks run
    url: str = ""  # empty: it listens on no address others could reach

    @property
    def living(self) -> bool:
        return self.left > 0


@dataclass(frozen=True)
class Right:
    """What must be true at the very moment a job is written: the lease holds; and where a job is
    taken ``over`` from another server, that one's has ended ``since`` so many seconds."""

    lease: Lease
    over: str = ""
    since: float = 0.0
