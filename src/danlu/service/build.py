"""Puts the platform together for one home directory."""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from danlu.executors.choice import chosen, open_executor
from danlu.records.api import Records
from danlu.records.sql import open_records
from danlu.service.ending import Ending
from danlu.service.jobs import Service
from danlu.service.keys import SecretFiles
from danlu.service.one_store import check_one_store
from danlu.service.same_records import FILE, check_same_records, identity_of
from danlu.service.sharing import Alone, Shared, Sharing
from danlu.service.supervisor import Supervisor
from danlu.service.switching import take_over
from danlu.service.tenure import Tenure
from danlu.settings import Settings
from danlu.storage.locate import Stores


@dataclass(frozen=True)
class Platform:
    """Everything a server serves. :meth:`start` it once, :meth:`close` it at the end."""

    service: Service
    supervisor: Supervisor
    records: Records
    thread: threading.Thread
    tenure: Tenure | None = None  # where other servers share the records
    leave: Callable[[], None] = lambda: None
    chores: Callable[[], None] = lambda: None

    def start(self, url: str = "") -> None:
        """``url``: where other servers find this one."""
        if self.tenure is not None:
            self.tenure.start(url)
        self.thread.start()

    def prepare(self) -> None:
        """Do what nobody waits for, beside a server that answers already."""
        threading.Thread(target=self.chores, name="chores", daemon=True).start()

    def close(self) -> None:
        """Stop supervising. Jobs go on; the next server takes them up."""
        self.supervisor.close()
        if self.thread.is_alive():
            self.thread.join()
        if self.tenure is not None:
            self.tenure.close()
        self.leave()
        self.records.close()


def build(settings: Settings) -> Platform:
    settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    settings = chosen(settings)
    records = open_records(settings.records_url or settings.database)
    check_same_records(settings.home, identity_of(records) if settings.records_url else FILE)
    take_over(settings.home, settings.executor, records)
    secrets = SecretFiles(settings.home / "secrets")
    wake: Callable[[], None] = lambda: supervisor.wake()  # noqa: E731
    tenure = _tenure(settings, records, wake) if settings.records_url else None
    sharing = _sharing(settings, tenure) if tenure is not None else Alone()
    executor = open_executor(settings, wake)
    ending = Ending(records, executor, secrets, settings)
    supervisor = Supervisor(records, executor, settings, secrets, ending, sharing=sharing)
    service = Service(records, executor, settings, secrets, wake=wake, sharing=sharing)
    thread = threading.Thread(target=supervisor.run, name="supervisor", daemon=True)

    def chores() -> None:
        executor.prepare()
        Stores.of(settings).sweep()  # a walk through the whole store

    return Platform(service, supervisor, records, thread, tenure, executor.close, chores)


def _tenure(settings: Settings, records: Records, wake: Callable[[], None]) -> Tenure:
    if not settings.cluster_store:
        check_one_store(settings.store, records)
    return Tenure(records, settings.home, settings.lease, executor=settings.executor, wake=wake)


def _sharing(settings: Settings, tenure: Tenure) -> Sharing:
    return Shared(tenure, timeout=settings.server_timeout, executor=settings.executor)
