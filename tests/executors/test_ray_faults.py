"""What is lost on a cluster, and what goes on: nodes, actors, the driver; and what stays secret."""

import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from contracts.executor import LIMITS, WAITS_FOR_EVER, Bench, eventually
from contracts.s3_server import SmallS3, endpoint, serve
from danlu.errors import ExecutorError, InvalidJob, NoCapacity, Refused, Unavailable
from danlu.executors.ray.access import Access
from danlu.executors.ray.executor import RayExecutor, RayTimeouts
from danlu.executors.ray.link import Link
from danlu.job.plan import Command, Role, Task
from danlu.job.state import Reason
from danlu.settings import Endpoint, Secret, Settings
from danlu.taskdir.files import TaskDir
from ray_cluster import HEAD, SECOND, THIRD, TOKEN, processes_of, running_cluster

pytestmark = [
    pytest.mark.ray,
    pytest.mark.timeout(300),
    pytest.mark.filterwarnings("default"),  # Ray's own
]

CANARY = "canary-" + "57183" * 4
TIMEOUTS = RayTimeouts(5, 60)
# A driver of another Danlu, as after half an upgrade.
NEWER = (
    *(sys.executable, "-c"),
    "import sys, danlu; danlu.__version__ = '99.0'\n"
    "from danlu.executors.ray.driver import main; main(int(sys.argv[1]))",
)


@pytest.fixture(scope="module")
def cluster():
    with running_cluster(num_cpus=0) as cluster:
        cluster.join(SECOND, num_cpus=1, num_gpus=2)
        cluster.join(THIRD, num_cpus=1)
        yield cluster


@pytest.fixture(scope="module")
def service():
    """The store of the cluster: a service that speaks S3, as nodes need one."""
    small = SmallS3("bucket")
    with serve(small) as url:
        small.url = url
        yield small


@pytest.fixture
def settings(tmp_path, service):
    return Settings(
        home=tmp_path / "home",
        executor="ray",
        stores={"s3": endpoint(service.url)},
        cluster_store="s3://bucket/danlu",
        node_home=str(tmp_path / "node"),
    )


@pytest.fixture
def open_link(cluster):
    opened = []

    def open_one(token=TOKEN, address="", **more):
        access = Access(address or cluster.address, Secret(token))
        opened.append(Link(lambda: access, "danlu-faults", **more))
        return opened[-1]

    yield open_one
    for link in opened:
        link.close()


@pytest.fixture
def link(open_link):
    link = open_link()
    yield link
    for job_id in link.call("held"):
        link.call("release", job_id=job_id)


@pytest.fixture
def bench(settings, link, tmp_path):
    bench = Bench(RayExecutor(settings, link=link, timeouts=TIMEOUTS, heartbeat=0.2), tmp_path)
    yield bench
    for pid in bench.processes():
        os.kill(pid, signal.SIGKILL)


def tasks_of(bench, scripts, attempt=1, **role):
    places = bench.executor.reserve(bench.job_id, [Role("worker", count=len(scripts), **role)])
    found = []
    for place, script in zip(places, scripts, strict=True):
        path = bench.folder / f"{place.task}-{attempt}.py"
        path.write_text(script)
        command = Command(run=str(path), cwd=str(bench.folder), private=())
        found.append(Task(bench.job_id, "trial", "modelarts", attempt, place, command, LIMITS))
    return found


def test_two_tasks_on_two_nodes_find_each_other(bench):
    """Each at the address its peers received: the node's own, and no other node's."""
    script = """
import socket, sys
me, own, other = int(sys.argv[1]), sys.argv[2], sys.argv[3]
host, port = own.split(":")
server = socket.create_server((host, int(port)))
server.settimeout(60)
if me == 0:
    peer, _ = server.accept()
    print("heard", peer.recv(100).decode())
else:
    for _ in range(600):
        try:
            with socket.create_connection(other.rsplit(":", 1)) as peer:
                peer.sendall(b"hello of 1")
            break
        except OSError:
            import time; time.sleep(0.1)
"""
    tasks = tasks_of(bench, [script, script])
    assert {task.place.host for task in tasks} == {SECOND, THIRD}
    peers = tasks[0].place.peers["worker"]
    started = []
    for index, task in enumerate(tasks):
        args = (str(index), peers[index], peers[1 - index])
        started.append(replace(task, command=replace(task.command, args=args)))

    bench.start(*started)

    assert [bench.ended(task).reason for task in tasks] == [Reason.DONE, Reason.DONE]
    assert "heard hello of 1\n" in bench.log(tasks[0])


def test_task_sees_gpus_that_ray_gave_it(bench):
    script = "import os\nprint('gpus', os.environ['CUDA_VISIBLE_DEVICES'])"
    (task,) = tasks_of(bench, [script], gpus=1)

    bench.start(task)

    bench.ended(task)
    assert len(task.place.gpus) == 1
    assert f"gpus {task.place.gpus[0]}\n" in bench.log(task)


def test_cancelled_reservation_leaves_no_placement_group(bench, link, open_link):
    link.call("release", job_id=bench.job_id)
    tasks_of(bench, ["", ""])
    quick = RayExecutor(bench.executor._settings, link=link, timeouts=RayTimeouts(1, 60))

    with pytest.raises(NoCapacity, match="the cluster has no free capacity"):
        quick.reserve("other-job", [Role("worker")])
    assert list(quick.held()) == [bench.job_id]

    after = RayExecutor(bench.executor._settings, link=open_link(), timeouts=TIMEOUTS)
    assert list(after.held()) == [bench.job_id]
    after.release(bench.job_id)
    # The reservations of the previous driver are released.
    assert len(after.reserve("third-job", [Role("worker", count=2)])) == 2


def test_error_for_large_job_lists_the_nodes(bench):
    with pytest.raises(InvalidJob, match="the largest node of the cluster has 1"):
        bench.executor.place(bench.job_id, [Role("worker", cpus=2)])


def test_lost_actor_takes_its_agent_and_script_along(bench):
    task = tasks_of(bench, [WAITS_FOR_EVER])[0]
    bench.start(task)
    bench.prints(task, "here")

    os.kill(_holder_of(bench), signal.SIGKILL)

    eventually(lambda: not bench.processes())
    eventually(lambda: bench.executor.poll(bench.job_id, [task])[0].lost)
    bench.stop(task)
    assert bench.outcome(task) is None


def _holder_of(bench):
    """Return the parent of the agent: the process of the actor."""
    script = bench.processes()[0]
    agent = _parent(script)
    while b"danlu.agent.remote" not in Path(f"/proc/{agent}/cmdline").read_bytes():
        agent = _parent(agent)
    return _parent(agent)


def _parent(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


def test_a_killed_driver_costs_nothing(bench, link):
    go = bench.folder / "go"
    waits = f"import os, time\nwhile not os.path.exists({str(go)!r}): time.sleep(0.02)\n"
    task = tasks_of(bench, [waits + "print('went on')"])[0]
    bench.start(task)
    eventually(lambda: bench.executor.poll(bench.job_id, [task])[0].claimed)
    first = link.pid

    os.kill(first, signal.SIGKILL)
    eventually(lambda: link.pid != first)
    assert not bench.executor.poll(bench.job_id, [task])[0].lost
    again = bench.executor.reserve(bench.job_id, [Role("worker")])
    bench.start(task)
    go.touch()

    assert bench.ended(task).reason is Reason.DONE
    assert [replace(place, root="") for place in again] == [replace(task.place, root="")]
    assert bench.log(task).count("went on") == 1
    assert link.pid not in (0, first)


def test_a_driver_leaves_with_its_server(open_link):
    link = open_link()
    link.call("held")
    pid = link.pid

    link.close()

    assert not Path(f"/proc/{pid}").exists()


def test_secrets_are_in_no_store_or_file(bench, service, cluster, tmp_path):
    script = "import os\nprint(os.environ['SK'][::-1])\n" + WAITS_FOR_EVER
    task = replace(tasks_of(bench, [script])[0], secrets=("SK",))
    bench.start(task, secrets={"SK": CANARY, "OTHER": "not asked for"})
    bench.prints(task, CANARY[::-1])

    needles = [CANARY.encode(), b"danlu-full-secret"]
    stored = [item.data for item in service.buckets["bucket"].values()]
    files = [
        path.read_bytes()
        for folder in (cluster.folder, tmp_path)
        for path in folder.rglob("*")
        if path.is_file() and path.suffix != ".py"
    ]
    memory = [_memory(pid) for pid in processes_of(str(cluster.folder)) if _is_gcs(pid)]

    # The look is one that finds what is there.
    for found in (stored, files, memory):
        assert any(bench.job_id.encode() in data for data in found)
    assert not [
        needle for needle in needles for data in (*stored, *files, *memory) if needle in data
    ]
    bench.stop(task)


def _is_gcs(pid):
    return b"gcs_server" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]


def _memory(pid):
    """Return all a process has written to its memory."""
    found = bytearray()
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in maps:
            if " rw-p " in line:
                start, end = (int(part, 16) for part in line.split()[0].split("-"))
                try:
                    memory.seek(start)
                    found += memory.read(end - start)
                except (OSError, ValueError):
                    continue
    return bytes(found)


@pytest.mark.parametrize(
    ("access", "words"),
    [
        ({"token": "another-" + TOKEN}, "does not accept the token"),
        ({"token": ""}, "does not accept the token"),
        ({"address": f"{HEAD}:1"}, "no answer from the head of the Ray cluster at 127.0.0.2:1"),
        ({"address": "127.0.0.2"}, "ray_address must be HOST:PORT"),
    ],
)
def test_rejected_ray_token_is_reported(open_link, access, words):
    with pytest.raises(Unavailable, match=words):
        open_link(**access).call("held")


def test_node_of_another_version_is_reported_briefly(settings, open_link):
    executor = RayExecutor(settings, link=open_link(command=NEWER), timeouts=TIMEOUTS)

    with pytest.raises(ExecutorError, match=r"has Danlu [0-9.]+, not 99\.0"):
        executor.reserve("a-job", [Role("worker")])

    assert list(executor.held()) == []


def test_silent_store_is_checked_again_later(settings, link):
    away = replace(settings, stores={"s3": Endpoint("http://127.0.0.1:1")})
    executor = RayExecutor(away, link=link, timeouts=TIMEOUTS)

    with pytest.raises(Unavailable, match="did not answer"):
        executor.reserve("a-job", [Role("worker")])


def test_capacity_is_released_when_cluster_answers_again(bench, link, open_link):
    tasks_of(bench, ["", ""])
    cut_off = [True]
    link.call, real = (lambda *a, **k: _unless(cut_off[0], real, a, k)), link.call

    bench.executor.release(bench.job_id)
    cut_off[0] = False

    assert list(bench.executor.held()) == []


def _unless(cut_off, call, words, named):
    if cut_off:
        raise Unavailable("the cluster does not answer")
    return call(*words, **named)


def test_unwritable_store_is_reported_at_once(settings, link):
    with pytest.raises(Refused, match="There is no bucket 'nobody'"):
        RayExecutor(replace(settings, cluster_store="s3://nobody/x"), link=link)


def test_task_of_lost_node_runs_elsewhere(bench, cluster):
    """Last: it takes one of the two nodes away."""
    old = tasks_of(bench, [WAITS_FOR_EVER])[0]
    old = replace(old, limits=replace(LIMITS, lost_after=3))  # it may only be cut off: waited for
    bench.start(old)
    bench.prints(old, "here")

    cluster.lose(old.place.host)

    eventually(lambda: not bench.processes())
    eventually(lambda: bench.executor.poll(bench.job_id, [old])[0].lost, within=90)
    bench.stop(old)
    bench.executor.release(bench.job_id)
    new = tasks_of(bench, ["print('second')"], attempt=2)[0]
    bench.start(new)
    assert bench.ended(new).reason is Reason.DONE
    assert new.place.host != old.place.host
    store = bench.executor._directories.store(bench.job_id)
    assert TaskDir(store, 1, old.name).outcome() is None
