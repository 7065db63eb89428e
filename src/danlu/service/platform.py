"""Construction of the platform for one home directory."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from danlu.executors.api import choose_executor, open_executor
from danlu.executors.disk_space import Reserve
from danlu.records.api import Records
from danlu.records.sql import open_records
from danlu.service.jobs.cleanup import JobCleanup
from danlu.service.jobs.secrets import SecretFiles
from danlu.service.jobs.supervisor import Supervisor
from danlu.service.outputs.previous import drop_old
from danlu.service.servers.home import (
    FILE,
    check_executor,
    check_one_store,
    check_same_records,
    identity_of,
)
from danlu.service.servers.lease import ServerLease
from danlu.service.servers.ownership import OwnershipPolicy, SharedDatabase, SingleServer
from danlu.service.service import Service
from danlu.settings import Settings
from danlu.storage.locate import Stores

_HOUR = 3600.0


@dataclass(frozen=True)
class Platform:
    """The service, supervisor and records of one server.

    Call :meth:`start` once and :meth:`close` at the end.
    """

    service: Service
    supervisor: Supervisor
    records: Records
    thread: threading.Thread
    lease: ServerLease | None = None  # if other servers may share the records
    leave: Callable[[], None] = lambda: None
    chores: Callable[[], None] = lambda: None
    closing: threading.Event = field(default_factory=threading.Event)  # stops the chores

    def start(self, url: str = "") -> None:
        """Take the server lease, if there is one, and start the supervisor.

        ``url`` is the address at which other servers reach this one.
        """
        if self.lease is not None:
            self.lease.start(url)
        self.thread.start()

    def prepare(self) -> None:
        """Start the background maintenance thread. The server answers requests meanwhile."""
        threading.Thread(target=self.chores, name="chores", daemon=True).start()

    def close(self) -> None:
        """Stop supervising. Jobs continue to run; the next server supervises them."""
        self.closing.set()
        self.supervisor.close()
        if self.thread.is_alive():
            self.thread.join()
        if self.lease is not None:
            self.lease.close()
        self.leave()
        self.records.close()


def build(settings: Settings) -> Platform:
    settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    settings = choose_executor(settings)
    records = open_records(settings.records_url or settings.database)
    check_same_records(settings.home, identity_of(records) if settings.records_url else FILE)
    check_executor(settings.home, settings.executor, records)
    secrets = SecretFiles(settings.home / "secrets")
    wake: Callable[[], None] = lambda: supervisor.wake()  # noqa: E731
    lease = _take_lease(settings, records, wake) if settings.records_url else None
    sharing = _sharing(settings, lease) if lease is not None else SingleServer()
    executor = open_executor(settings, wake)
    cleanup = JobCleanup(records, executor, secrets, settings)
    supervisor = Supervisor(records, executor, settings, secrets, cleanup, sharing=sharing)
    service = Service(records, executor, settings, secrets, wake=wake, sharing=sharing)
    thread = threading.Thread(target=supervisor.run, name="supervisor", daemon=True)

    closing = threading.Event()

    def chores() -> None:
        executor.prepare()
        Reserve(settings.home).fill()
        Stores.of(settings).sweep()  # slow: reads the whole store
        service.sweep()
        while not closing.is_set():
            # Not in the supervisor, which must not wait for an unavailable store.
            drop_old(records, settings, time.time())
            closing.wait(_HOUR)

    return Platform(service, supervisor, records, thread, lease, executor.close, chores, closing)


def _take_lease(settings: Settings, records: Records, wake: Callable[[], None]) -> ServerLease:
    if not settings.cluster_store:
        check_one_store(settings.store, records)
    return ServerLease(
        records, settings.home, settings.lease, executor=settings.executor, wake=wake
    )


def _sharing(settings: Settings, lease: ServerLease) -> OwnershipPolicy:
    return SharedDatabase(lease, timeout=settings.server_timeout, executor=settings.executor)
