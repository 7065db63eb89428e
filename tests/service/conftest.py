from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from contracts.fake_executor import ClockworkExecutor
from danlu.records.sql import SqlRecords
from danlu.service.jobs.cleanup import JobCleanup
from danlu.service.jobs.secrets import SecretFiles
from danlu.service.jobs.supervisor import Supervisor
from danlu.service.service import Service
from danlu.settings import Settings
from danlu.storage.locate import Stores


@dataclass
class Platform:
    """A platform in memory, whose executor and clock are the test's to move."""

    settings: Settings
    records: SqlRecords
    executor: ClockworkExecutor
    stores: Stores
    secrets: SecretFiles
    now: float = 1_000_000.0
    through: Callable[[Any], Any] = lambda part: part  # what a server sees of them

    def __post_init__(self):
        self.assemble()

    def assemble(self):
        """What a new server does with what an old one left."""
        parts = (self.records, self.executor, self.secrets)
        records, executor, secrets = map(self.through, parts)
        cleanup = JobCleanup(records, executor, secrets, self.settings, clock=self.clock)
        self.supervisor = Supervisor(
            records, executor, self.settings, secrets, cleanup, clock=self.clock
        )
        self.service = Service(
            records, executor, self.settings, secrets, wake=lambda: None, clock=self.clock
        )

    def clock(self):
        self.now += 0.001  # no two things happen at once
        return self.now

    def put(self, uri, data=b"x"):
        location = self.stores.at(uri)
        location.storage.write(location.key, data)

    def tick(self, seconds=0.0):
        self.now += seconds
        self.supervisor.tick()

    def settle(self, **changes):
        self.settings = replace(self.settings, **changes)
        self.assemble()


@pytest.fixture
def platform(platform_in, tmp_path):
    return platform_in(tmp_path)


@pytest.fixture
def platform_in(new_records):
    def build(folder):
        settings = Settings(home=folder)
        platform = Platform(
            settings=settings,
            records=new_records(),
            executor=ClockworkExecutor(folder / "jobs"),
            stores=Stores.of(settings),
            secrets=SecretFiles(folder / "secrets"),
        )
        platform.put("obs://bucket/code/train.py", b"print(1)")
        platform.put("obs://bucket/data/a.csv")
        return platform

    return build


@pytest.fixture
def request_of():
    return {"dialect": "modelarts", "code": "obs://bucket/code", "boot_file": "train.py"}
