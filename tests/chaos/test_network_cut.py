"""The network between a server and the machine that a task runs on is cut, and heals.

The agent, its store, the network and the server's supervisor are real. ``two_machines`` replaces
Ray. It also reports a living node as dead, as a real cluster may.
"""

import itertools
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from contracts.executor import eventually
from contracts.s3_server import SmallS3, endpoint, serve
from danlu.executors.ray.executor import RayExecutor
from danlu.job.state import JobState
from danlu.records.api import Records
from danlu.service.jobs.cleanup import JobCleanup
from danlu.service.jobs.secrets import SecretFiles
from danlu.service.jobs.supervisor import Supervisor
from danlu.service.service import Service
from danlu.settings import Settings
from danlu.storage.locate import Stores
from network import far_machine
from repetitions import tried
from two_machines import TwoMachines

TIMEOUT = 4.0
# Seconds of a cut: short enough to be tolerated; long enough for every timeout.
SHORT, LONG = 1.0, 11.0
WAIT = 120.0
# Reports continuously which attempt runs; resumes from the step it finds.
SCRIPT = """
import os, sys, time
given = dict(word[2:].split("=", 1) for word in sys.argv[1:] if "=" in word)
attempt = os.environ["DANLU_TASK"].split("/")[1]
out = given["train_url"]
path = os.path.join(out, "step")
step = int(open(path).read()) if os.path.exists(path) else 0
with open(given["ticks"], "a") as ticks:
    while not os.path.exists(given["end"]):
        step += 1
        with open(path + ".new", "w") as file:
            file.write(str(step))
        os.replace(path + ".new", path)
        ticks.write("%s %d %f\\n" % (attempt, step, time.monotonic()))
        ticks.flush()
        time.sleep(0.02)
with open(os.path.join(out, "ended by " + attempt), "w") as file:
    file.write(str(step))
"""


@dataclass
class Tick:
    attempt: int
    step: int
    at: float


@dataclass
class Training:
    """One job on the other machine, and all that its attempts have left."""

    server: "ServerWithCluster"
    job: str
    folder: Path

    def ticks(self) -> list[Tick]:
        path = self.folder / "ticks"
        lines = path.read_text().splitlines(keepends=True) if path.exists() else []
        words = [line.split() for line in lines if line.endswith("\n")]
        return [Tick(int(attempt), int(step), float(at)) for attempt, step, at in words]

    def runs(self, attempt: int) -> None:
        """Wait until an attempt works, and its steps are in the store."""
        eventually(lambda: self._stored(attempt), within=WAIT)

    def _stored(self, attempt: int) -> bool:
        own = [tick.step for tick in self.ticks() if tick.attempt == attempt]
        found = self.server.objects(f"{self.job}-out/step")
        return bool(own) and bool(found) and int(next(iter(found.values()))) >= own[0]

    def end(self) -> None:
        (self.folder / "end").touch()
        eventually(lambda: self.state().final, within=WAIT)

    def state(self) -> JobState:
        return self.server.service.get(self.job).state

    def attempts(self) -> int:
        return self.server.service.get(self.job).attempt

    def began(self, attempt: int) -> float:
        return min(tick.at for tick in self.ticks() if tick.attempt == attempt)

    def begins_after_the_first_step(self) -> bool:
        """Return True if only the first attempt began at step 0."""
        return all(tick.step > 1 for tick in self.ticks() if tick.attempt > 1)

    def outputs(self) -> set[str]:
        return {key.rpartition("/")[2] for key in self.server.objects(f"{self.job}-out/")}

    def overlap(self) -> float:
        """Return the seconds in which two attempts lived at once."""
        spans: dict[int, list[float]] = {}
        for tick in self.ticks():
            spans.setdefault(tick.attempt, []).append(tick.at)
        ordered = [spans[attempt] for attempt in sorted(spans)]
        pairs = itertools.pairwise(ordered)
        return max((max(one) - min(other) for one, other in pairs), default=-1.0)


class ServerWithCluster:
    """A server for such trainings, without its HTTP."""

    def __init__(self, settings: Settings, cluster: TwoMachines, records: Records) -> None:
        self.cluster = cluster
        self.settings = settings
        executor = RayExecutor(settings, link=cluster, heartbeat=0.2)  # type: ignore[arg-type]
        keys = SecretFiles(settings.home / "secrets")
        ending = JobCleanup(records, executor, keys, settings)
        self.supervisor = Supervisor(records, executor, settings, keys, ending)
        self.service = Service(records, executor, settings, keys, wake=self.supervisor.wake)
        self._thread = threading.Thread(target=self.supervisor.run, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self.supervisor.close()
        self._thread.join()

    def objects(self, prefix: str) -> dict[str, bytes]:
        place = Stores.of(self.settings).at("s3://bucket/" + prefix)
        keys = [key for key, _ in place.storage.sizes(place.key)]
        return {key: place.storage.read(key) or b"" for key in keys}

    def train(self, folder: Path) -> Training:
        folder.mkdir()
        place = Stores.of(self.settings).at("s3://bucket/code/train.py")
        place.storage.write(place.key, SCRIPT.encode())
        name = folder.name
        request = {
            "dialect": "modelarts",
            "name": name,
            "code": "s3://bucket/code",
            "boot_file": "train.py",
            "train_url": f"s3://bucket/{name}-out/",
            "parameters": {"ticks": str(folder / "ticks"), "end": str(folder / "end")},
        }
        self.service.submit(request)
        return Training(self, name, folder)


@pytest.fixture
def server(tmp_path, new_records):
    with far_machine() as machine, serve(SmallS3("bucket"), host=machine.near) as url:
        settings = Settings(
            home=tmp_path / "home",
            executor="ray",
            stores={"s3": endpoint(url)},
            cluster_store="s3://bucket/danlu",
            isolation="none",
            agent_timeout=TIMEOUT,
            mirror_interval=0.3,
            retry_delay=0.05,
            heartbeat=0.2,
            retries=100,
        )
        cluster = TwoMachines(machine, tmp_path / "node")
        server = ServerWithCluster(settings, cluster, new_records())
        yield server
        cluster.heal()
        server.close()
        cluster.close()


@tried(quick=1, long=50)
def test_a_cut_leaves_one_living_copy(server, tmp_path, chance, measured, count):
    seen = []
    for number in range(count):
        kind = chance.choice(KINDS) if number else taken_for_dead
        training = server.train(tmp_path / f"job-{number}")
        training.runs(1)
        time.sleep(chance.uniform(0, 0.5))
        began = time.monotonic()
        kind(server.cluster, training)
        training.end()
        seen.append((kind, began, training))

    overlaps = [training.overlap() for _, _, training in seen]
    tried_again = [(began, t) for _, began, t in seen if t.attempts() > 1]
    slowest = max(t.began(2) - began for began, t in tried_again)
    measured(
        "F25",
        cuts=count,
        longer_than_timeout=sum(kind is not soon_healed for kind, _, _ in seen),
        tried_again=len(tried_again),
        double=sum(overlap > 0 for overlap in overlaps),
        slowest_resume=round(slowest, 1),
    )
    assert max(overlaps) <= 0
    for kind, _, training in seen:
        assert training.state() is JobState.SUCCEEDED
        assert kind is soon_healed or training.attempts() == 2
        # The last attempt went on from what the first had stored, and it alone has ended.
        assert training.begins_after_the_first_step()
        assert training.outputs() == {"step", f"ended by {training.attempts()}"}


def soon_healed(cluster: TwoMachines, training: Training) -> None:
    cluster.cut()
    time.sleep(SHORT)
    cluster.heal()


def taken_for_dead(cluster: TwoMachines, training: Training) -> None:
    """Ray gives the node up long before its agent does; the other machine takes over."""
    cluster.cut()
    time.sleep(SHORT)
    cluster.is_dead = True
    training.runs(2)
    cluster.heal()
    cluster.is_dead = False


def not_known(cluster: TwoMachines, training: Training) -> None:
    """Ray waits; there is no other node."""
    cluster.cut()
    time.sleep(LONG)
    cluster.heal()
    training.runs(2)


KINDS = (soon_healed, taken_for_dead, not_known)
