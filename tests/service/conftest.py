from dataclasses import dataclass, replace

import pytest

from danlu.records.memory import MemoryRecords
from danlu.service.ending import Ending
from danlu.service.jobs import Service
from danlu.service.keys import SecretFiles
from danlu.service.supervisor import Supervisor
from danlu.settings import Settings
from danlu.storage.locate import Stores
from danlu.testing.clockwork import ClockworkExecutor


@dataclass
class House:
    """A platform in memory, whose executor and clock are the test's to move."""

    settings: Settings
    records: MemoryRecords
    executor: ClockworkExecutor
    stores: Stores
    secrets: SecretFiles
    now: float = 1_000_000.0

    def __post_init__(self):
        self.assemble()

    def assemble(self):
        """What a new server does with what an old one left."""
        ending = Ending(self.records, self.executor, self.secrets, self.settings, clock=self.clock)
        self.supervisor = Supervisor(
            self.records, self.executor, self.settings, self.secrets, ending, clock=self.clock
        )
        self.service = Service(
            self.records,
            self.executor,
            self.settings,
            self.secrets,
            wake=lambda: None,
            clock=self.clock,
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
def house(tmp_path):
    settings = Settings(home=tmp_path)
    house = House(
        settings=settings,
        records=MemoryRecords(),
        executor=ClockworkExecutor(tmp_path / "jobs"),
        stores=Stores.of(settings),
        secrets=SecretFiles(tmp_path / "secrets"),
    )
    house.put("obs://bucket/code/train.py", b"print(1)")
    house.put("obs://bucket/data/a.csv")
    return house


@pytest.fixture
def request_of():
    return {"dialect": "modelarts", "code": "obs://bucket/code", "boot_file": "train.py"}
