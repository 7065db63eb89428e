"""The lease of this server: taken, renewed while the records are reachable, retaken when lost.

The lease in the records is authoritative. Between two queries this server uses its own clock and
counts from the moment before the query. The local lease never expires later than the database row.
"""

import logging
import secrets
import socket
import threading
from collections.abc import Callable
from pathlib import Path

from danlu.atomic_file import HomeNote
from danlu.errors import Unavailable
from danlu.job.state import Lease, Server
from danlu.records.api import Records
from danlu.taskdir.lease import LocalLease, since_boot, write_lease

log = logging.getLogger(__name__)

_NAME = "server-name"
_RENEWALS = 3  # renewals per lease duration


def known_name(home: Path) -> str:
    """Return the name of the server of a home; "" if it has never shared its records."""
    return HomeNote(home / _NAME).read()


def server_name(home: Path) -> str:
    """Return the name of the server of a home; create it at the first call, then keep it."""
    if not known_name(home):
        host = "".join(c if c.isascii() and c.isalnum() else "-" for c in socket.gethostname())
        HomeNote(home / _NAME).write(f"{host[:40] or 'server'}-{secrets.token_hex(3)}")
    return known_name(home)


class ServerLease:
    """The lease of this server. Thread-safe.

    ``wake`` is called when a lost lease was taken again.
    """

    def __init__(
        self,
        records: Records,
        home: Path,
        seconds: float,
        *,
        executor: str = "local",
        wake: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = since_boot,
    ) -> None:
        self.name = server_name(home)
        self._records = records
        self._home = home
        self._seconds = seconds
        self._executor = executor
        self._wake = wake
        self._clock = clock
        self._url = ""
        self._lease: Lease | None = None
        self._since = 0.0  # when the lease was taken
        self._until = 0.0
        self._others: dict[str, Server] = {}
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lease", daemon=True)

    def start(self, url: str = "") -> None:
        """Take the lease and start to renew it; other servers reach this one at ``url``."""
        self._url = url
        self._take()
        self._thread.start()

    def close(self) -> None:
        self._closed.set()
        if self._thread.is_alive():
            self._thread.join()

    def lease(self) -> Lease | None:
        """Return the lease while it is known to be valid, else None."""
        lease, until = self._lease, self._until
        return lease if lease is not None and self._clock() < until else None

    def last_known(self, server: str) -> Server | None:
        """Return another server as of the last query of the records."""
        return self._others.get(server)

    def query_server(self, server: str) -> Server | None:
        """Return another server after a new query of the records."""
        self._others = self._query_others()
        return self._others.get(server)

    def seconds_without_lease(self, server: str) -> float:
        """Return the seconds since the lease of another server expired; 0 while it is valid.

        The time is at most that since this server took its own lease. After an outage of the
        database, every server thus gets time to renew its lease.
        """
        known = self._others.get(server)
        here = max(self._clock() - self._since, 0.0)
        return here if known is None else min(max(-known.left, 0.0), here)

    def renew(self) -> None:
        """Renew the lease or retake a lost one; then query the other servers."""
        asked = self._clock()
        lease = self._lease
        if lease is not None and self._records.renew(lease, self._seconds):
            self._hold(lease, asked)
        else:
            self._lost(lease)
        self._others = self._query_others()

    def _query_others(self) -> dict[str, Server]:
        return {s.name: s for s in self._records.servers() if s.name != self.name}

    def _lost(self, lease: Lease | None) -> None:
        holder = next((s for s in self._records.servers() if s.name == self.name), None)
        self._lease = None
        if lease is not None:
            log.warning("lease lost server=%s fence=%d", lease.server, lease.fence)
        if holder is not None and holder.living:
            log.error(
                "another server has the name %s: its home is a copy of %s (host %s)",
                *(self.name, self._home, holder.host),
            )
            return
        self._take()
        self._wake()

    def _take(self) -> None:
        asked = self._clock()
        about = {"host": socket.gethostname(), "executor": self._executor, "url": self._url}
        lease = self._records.take(self.name, self._seconds, **about)
        self._since = asked
        self._hold(lease, asked)
        self._others = self._query_others()
        log.info("lease taken server=%s fence=%d", lease.server, lease.fence)

    def _hold(self, lease: Lease, asked: float) -> None:
        # Write the lease file first: agents started under this lease must find it.
        write_lease(self._home, LocalLease(lease.fence, asked + self._seconds))
        self._lease, self._until = lease, asked + self._seconds

    def _run(self) -> None:
        while not self._closed.wait(self._seconds / _RENEWALS):
            try:
                self.renew()
            except Unavailable as error:
                log.warning("lease not renewed because=%s", error)
            except Exception:
                log.exception("lease not renewed")
