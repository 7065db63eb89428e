"""The lease of this server: taken, kept while the records answer, lost, taken again.

What the records say is what counts. Between two looks at them this server trusts its own clock,
from the moment before it asked: it never believes longer in its lease than the records do.
"""

import logging
import os
import secrets
import socket
import threading
from collections.abc import Callable
from pathlib import Path

from danlu.errors import Unavailable
from danlu.job.server import Lease, Server
from danlu.records.api import Records
from danlu.taskdir.term import Term, since_boot, write_term

log = logging.getLogger(__name__)

_NAME = "server-name"
_RENEWALS = 3  # in the length of a lease


def known_name(home: Path) -> str:
    """Return the name of the server of a home; "" where it has never shared its records."""
    file = home / _NAME
    return file.read_text(encoding="ascii").strip() if file.exists() else ""


def server_name(home: Path) -> str:
    """Return the name of the server of a home, giving it one: the same after every start."""
    file = home / _NAME
    if not file.exists():
        host = "".join(c if c.isascii() and c.isalnum() else "-" for c in socket.gethostname())
        temporary = home / f".server-name-{os.getpid()}"
        temporary.write_text(f"{host[:40] or 'server'}-{secrets.token_hex(3)}\n", encoding="ascii")
        os.replace(temporary, file)
    return known_name(home)


class Tenure:
    """Safe to use from several threads. ``wake`` is called when a lease was taken."""

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
        self._since = 0.0  # when it was taken
        self._until = 0.0
        self._others: dict[str, Server] = {}
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lease", daemon=True)

    def start(self, url: str = "") -> None:
        """Take the lease and keep it; ``url`` is where other servers find this one."""
        self._url = url
        self._take()
        self._thread.start()

    def close(self) -> None:
        self._closed.set()
        if self._thread.is_alive():
            self._thread.join()

    def lease(self) -> Lease | None:
        """Return the lease while it is known to hold."""
        lease, until = self._lease, self._until
        return lease if lease is not None and self._clock() < until else None

    def seen(self, server: str) -> Server | None:
        """Return another server as it was at the last look."""
        return self._others.get(server)

    def now(self, server: str) -> Server | None:
        """Return another server as it is."""
        self._others = self._look_around()
        return self._others.get(server)

    def gone_for(self, server: str) -> float:
        """Return how long another server has had no lease; 0 while it has.

        Counted from the moment this one took its own at the earliest: when the database itself
        was away, everybody gets the time to come back.
        """
        known = self._others.get(server)
        here = max(self._clock() - self._since, 0.0)
        return here if known is None else min(max(-known.left, 0.0), here)

    def look(self) -> None:
        """One step: renew, or take again what was lost; then see who else is there."""
        asked = self._clock()
        lease = self._lease
        if lease is not None and self._records.renew(lease, self._seconds):
            self._hold(lease, asked)
        else:
            self._lost(lease)
        self._others = self._look_around()

    def _look_around(self) -> dict[str, Server]:
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
        self._others = self._look_around()
        log.info("lease taken server=%s fence=%d", lease.server, lease.fence)

    def _hold(self, lease: Lease, asked: float) -> None:
        # The agents first: what is started under a lease must find it.
        write_term(self._home, Term(lease.fence, asked + self._seconds))
        self._lease, self._until = lease, asked + self._seconds

    def _run(self) -> None:
        while not self._closed.wait(self._seconds / _RENEWALS):
            try:
                self.look()
            except Unavailable as error:
                log.warning("lease not renewed because=%s", error)
            except Exception:
                log.exception("lease not renewed")
