"""Puts the platform together for one home directory."""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from danlu.executors.local import LocalExecutor
from danlu.records.api import Records
from danlu.records.sql import open_records
from danlu.service.ending import Ending
from danlu.service.jobs import Service
from danlu.service.keys import SecretFiles
from danlu.service.supervisor import Supervisor
from danlu.settings import Settings
from danlu.storage.locate import Stores


@dataclass(frozen=True)
class Platform:
    """Everything a server serves. :meth:`start` it once, :meth:`close` it at the end."""

    service: Service
    supervisor: Supervisor
    records: Records
    thread: threading.Thread

    def start(self) -> None:
        self.thread.start()

    def close(self) -> None:
        """Stop supervising. Jobs go on; the next server takes them up."""
        self.supervisor.close()
        if self.thread.is_alive():
            self.thread.join()
        self.records.close()


def build(settings: Settings) -> Platform:
    settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    records = open_records(settings.records_url or settings.database)
    Stores.of(settings).sweep()
    secrets = SecretFiles(settings.home / "secrets")
    wake: Callable[[], None] = lambda: supervisor.wake()  # noqa: E731
    executor = LocalExecutor(settings, wake=wake)
    ending = Ending(records, executor, secrets, settings)
    supervisor = Supervisor(records, executor, settings, secrets, ending)
    service = Service(records, executor, settings, secrets, wake=wake)
    thread = threading.Thread(target=supervisor.run, name="supervisor", daemon=True)
    return Platform(service, supervisor, records, thread)
