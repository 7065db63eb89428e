"""The task directory on a Ray cluster of two nodes: same protocol, carried by a store.

One detached named actor per task holds the real agent. Nothing is asked of Ray but to place
actors and to keep them: plan, claim, heartbeat, log, stop, outcome and fence go through the store.
"""

import importlib.util
import os
import shutil
import signal
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from danlu.job.job import new_id
from danlu.job.plan import Command, Limits, Place, Task
from danlu.job.state import Reason
from danlu.storage.local import FileStorage
from danlu.taskdir.files import TaskDir, raise_fence
from danlu.taskdir.process import marked
from danlu.taskdir.store import StoreCarrier
from danlu.testing.bench import WAITS_FOR_EVER, eventually
from danlu.testing.taskdir import CarrierContract

pytestmark = [
    pytest.mark.ray,
    pytest.mark.timeout(300),
    pytest.mark.filterwarnings("default"),  # Ray's own
]

AGENT = Path(__file__).with_name("ray_agent.py")
NAMESPACE = "danlu"
# Loopback, and not 127.0.0.1: Ray turns that into an address the network can reach.
HEAD, SECOND = "127.0.0.2", "127.0.0.3"
LIMITS = Limits(heartbeat=0.2, lost_after=20, grace=2, mirror=1)


class TestStoreCarrierOverFiles(CarrierContract):
    """The store of the tests below keeps the contract that they rely on."""

    @pytest.fixture
    def carrier(self, tmp_path):
        return StoreCarrier(FileStorage(tmp_path, plain=False), "jobs/abc")


@pytest.fixture(scope="module")
def ray():
    if importlib.util.find_spec("ray") is None:
        pytest.skip("the ray extra is not installed")
    # Token auth is off by default in Ray, and its job API is remote code: we never run without.
    # Set before the import: Ray's own library reads these once, when it is loaded.
    # Sockets lie in the folder, and their paths must stay under 108 bytes: not below tmp_path.
    folder = tempfile.mkdtemp(prefix="danlu-ray-", dir="/tmp")
    environment = {
        "RAY_TMPDIR": folder,
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": os.urandom(32).hex(),
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    }
    before = dict(os.environ)
    os.environ.update(environment)
    yield importlib.import_module("ray")
    os.environ.clear()
    os.environ.update(before)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def cluster(ray):
    from ray.cluster_utils import Cluster

    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    node = {"num_cpus": 1, "include_dashboard": False}
    cluster = Cluster()
    try:
        cluster.add_node(**node, node_ip_address=HEAD)
        cluster.add_node(**node, node_ip_address=SECOND, resources={"second": 1})
        connect(ray, cluster)
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for pid in _processes_of(os.environ["RAY_TMPDIR"]):
            os.kill(pid, signal.SIGKILL)
        eventually(lambda: not _processes_of(os.environ["RAY_TMPDIR"]))


def connect(ray, cluster):
    ray.init(
        address=cluster.address, namespace=NAMESPACE, log_to_driver=False, _node_ip_address=HEAD
    )


def _processes_of(folder):
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            text = Path("/proc", name, "cmdline").read_bytes()
            text += Path("/proc", name, "environ").read_bytes()
        except OSError:
            continue
        if folder.encode() in text and int(name) != os.getpid():
            found.append(int(name))
    return found


class RayJob:
    """A job on the cluster, as an executor of ours would run it."""

    def __init__(self, ray, folder):
        self.ray = ray
        self.id = new_id()
        self.folder = folder
        self.store = folder / "store"
        self.home = folder / "home"
        self.carrier = StoreCarrier(FileStorage(self.store, plain=False), f"jobs/{self.id}")

    def task(self, script, *, index=0, attempt=1):
        path = self.folder / f"{index}-{attempt}.py"
        path.write_text(script)
        root = self.home / "work" / self.id / str(attempt) / f"worker-{index}" / "root"
        return Task(
            job_id=self.id,
            job_name="spike",
            dialect="modelarts",
            attempt=attempt,
            place=Place("worker", index, root=str(root)),
            command=Command(run=str(path), cwd=str(self.folder), private=()),
            limits=LIMITS,
        )

    def files(self, task):
        return TaskDir(self.carrier, task.attempt, task.name)

    def start(self, task, secrets=None, **options):
        raise_fence(self.carrier, task.attempt)
        if not self.files(task).is_planned():
            self.files(task).write_plan(task, {})
        actor = self.ray.remote(_holder()).options(
            name=f"{self.id}-{task.attempt}-{task.name}",
            namespace=NAMESPACE,
            lifetime="detached",
            get_if_exists=True,
            **{"num_cpus": 1, **options},
        )
        command = [sys.executable, str(AGENT), str(self.store), str(self.home)]
        return actor.remote([*command, self.id, str(task.attempt), task.name], dict(secrets or {}))

    def ended(self, task):
        eventually(lambda: self.files(task).outcome(), within=90)
        return self.files(task).outcome()

    def log(self, task):
        return self.files(task).log_reader().read(0).data.decode()

    def says(self, task, text):
        eventually(lambda: text in self.log(task), within=90)

    def processes(self):
        return list(marked(f"{self.id}/"))

    def close(self, *actors):
        for actor in actors:
            self.ray.kill(actor)
        eventually(lambda: not self.processes())


def _holder():
    """Return the actor's class; made here, so that Ray sends its code and not its name."""

    class Holder:
        def __init__(self, command, secrets):
            import json
            import subprocess

            self.agent = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
            self.agent.stdin.write(json.dumps(secrets).encode())
            self.agent.stdin.close()

        def node(self):
            import ray

            return ray.get_runtime_context().get_node_id()

        def wait(self):
            return self.agent.wait()

    return Holder


@pytest.fixture
def job(ray, cluster, tmp_path):
    job = RayJob(ray, tmp_path)
    yield job
    for pid in job.processes():
        os.kill(pid, signal.SIGKILL)


def test_two_tasks_on_two_nodes_speak_through_the_store(job, ray):
    from ray.util.placement_group import placement_group, remove_placement_group
    from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

    group = placement_group([{"CPU": 1}, {"CPU": 1}], strategy="STRICT_SPREAD")
    assert group.wait(60)
    tasks = [job.task(f"print('hello of {index}')", index=index) for index in range(2)]

    actors = []
    for index, task in enumerate(tasks):
        bundle = PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=index)
        actors.append(job.start(task, scheduling_strategy=bundle))

    assert [job.ended(task).reason for task in tasks] == [Reason.DONE, Reason.DONE]
    assert [f"hello of {task.place.index}\n" in job.log(task) for task in tasks] == [True, True]
    assert all(job.files(task).heartbeat().seq > 0 for task in tasks)
    assert len(set(ray.get([actor.node.remote() for actor in actors]))) == 2
    job.close(*actors)
    remove_placement_group(group)


def test_a_task_outlives_its_driver_and_starts_once(job, ray, cluster):
    runs, go = job.folder / "runs", job.folder / "go"
    task = job.task(
        f"import os, time\nopen({str(runs)!r}, 'a').write('x')\n"
        f"while not os.path.exists({str(go)!r}): time.sleep(0.05)\nraise SystemExit(3)"
    )
    first = ray.get(job.start(task).node.remote())
    eventually(runs.exists, within=90)

    ray.shutdown()
    connect(ray, cluster)
    actor = job.start(task)
    go.touch()

    assert job.ended(task).exit_code == 3
    assert ray.get(actor.node.remote()) == first
    assert runs.read_text() == "x"
    job.close(actor)


def test_a_stop_and_a_secret_reach_the_agent(job):
    task = job.task("import os\nprint(os.environ['SK'][::-1], flush=True)\n" + WAITS_FOR_EVER)
    task = replace(task, secrets=("SK",))
    actor = job.start(task, {"SK": "canary-57183"})
    job.says(task, "here")

    job.files(task).request_stop(1.0)

    assert job.ended(task).reason is Reason.STOPPED_BY_USER
    assert job.processes() == []
    stored = [path.read_bytes() for path in job.store.rglob("*") if path.is_file()]
    assert not any(b"canary-57183" in data for data in stored)
    job.close(actor)


def test_a_newer_attempt_sends_the_older_one_away(job, ray):
    old = job.task(WAITS_FOR_EVER)
    first = job.start(old)
    job.says(old, "here")

    new = job.task("print('second')", attempt=2)
    second = job.start(new)

    assert job.ended(new).reason is Reason.DONE
    assert ray.get(first.wait.remote(), timeout=60) == 0
    assert job.files(old).outcome() is None
    job.close(first, second)


def test_a_lost_node_leaves_no_script_and_the_next_attempt_runs_elsewhere(job, cluster):
    """Last: it takes one of the two nodes away."""
    old = job.task(WAITS_FOR_EVER)
    job.start(old, resources={"second": 1})
    job.says(old, "here")
    assert job.processes()

    cluster.remove_node(next(iter(cluster.worker_nodes)), allow_graceful=False)

    eventually(lambda: not job.processes(), within=90)
    last = job.files(old).heartbeat().seq
    new = job.task("print('second')", attempt=2)
    actor = job.start(new)
    assert job.ended(new).reason is Reason.DONE
    assert job.files(old).heartbeat().seq == last
    assert job.files(old).outcome() is None
    job.close(actor)
