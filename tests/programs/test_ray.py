"""Whole programs on a Ray cluster of two nodes, by the commands of the guide."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from contracts.executor import eventually
from contracts.s3_server import ACCESS, SECRET, SmallS3, serve
from danlu.taskdir.processes import task_pids
from pages import ROOT, Page
from ray_cluster import HEAD, SECOND, end_nodes_of, require_ray

pytestmark = [pytest.mark.ray, pytest.mark.timeout(600)]

GUIDE = Page(ROOT / "docs" / "guides" / "ray.md")
BIN = Path(sys.executable).parent

# Ps and workers as DLS starts them, with sockets in place of TensorFlow: workers add to a number
# that the ps keep; worker 0 writes it down, and goes on from there in a later attempt.
TRAIN = """
import argparse, os, socket, sys, time
parser = argparse.ArgumentParser()
for name in ("data_url", "train_url", "job_name", "ps_hosts", "worker_hosts"):
    parser.add_argument("--" + name, default="")
parser.add_argument("--task_index", type=int, default=0)
parser.add_argument("--steps", type=int, default=20)
args, _ = parser.parse_known_args()
hosts = {"ps": args.ps_hosts.split(","), "worker": args.worker_hosts.split(",")}
own = hosts[args.job_name][args.task_index]
print("I am", args.job_name, args.task_index, "at", own, "data", sorted(os.listdir(args.data_url)))
if args.job_name == "ps":
    host, port = own.rsplit(":", 1)
    server = socket.create_server((host, int(port)))
    while True:
        peer, _ = server.accept()
        with peer:
            peer.sendall(peer.recv(100))  # fails with a worker that is killed just now
saved = os.path.join(args.train_url, "step")
step = int(open(saved).read()) if os.path.exists(saved) else 0
print("begin at", step, flush=True)
while step < args.steps:
    for host in hosts["ps"]:
        for _ in range(300):
            try:
                with socket.create_connection(host.rsplit(":", 1), 60) as peer:
                    peer.sendall(str(step).encode())
                    assert int(peer.recv(100)) == step
                break
            except OSError:
                time.sleep(0.1)
    step += 1
    if args.task_index == 0:
        with open(saved + ".tmp", "w") as file:
            file.write(str(step))
        os.replace(saved + ".tmp", saved)
    print("step", step, flush=True)
    time.sleep(0.1)
"""


JOB = """
dialect = "dls"
code = "code/"
boot_file = "train.py"
data_url = "s3://bucket/data"
train_url = "s3://bucket/out"
nodes = 2
[parameters]
steps = 60
"""


@pytest.fixture
def store():
    service = SmallS3("bucket")
    with serve(service) as url:
        service.url = url
        yield service


@pytest.fixture
def site(person, store, tmp_path):
    """A user with a store; everything of Ray is stopped at the end."""
    require_ray()
    person.env |= {
        "DANLU_S3_ENDPOINT": store.url,
        "DANLU_S3_ACCESS_KEY": ACCESS,
        "DANLU_S3_SECRET_KEY": SECRET,
        "DANLU_CLUSTER_STORE": "s3://bucket/danlu",
        "DANLU_NODE_HOME": str(tmp_path / "node"),
        "DANLU_MIRROR_INTERVAL": "0.2",
        "DANLU_CPUS": "2",
        "PATH": f"{BIN}:{os.environ['PATH']}",
    }
    person.script(TRAIN)
    (person.folder / "data.txt").write_text("x")
    nodes = []
    person.nodes = nodes
    yield person
    person.types("down")
    for node in nodes:
        node.kill()  # on SIGTERM it would look for its head for half a minute
        node.wait()
    end_nodes_of(str(person.home))


def follow(site, line):
    """Run a line of the guide on these machines, which have other addresses."""
    words = shlex.split(line.replace("10.0.0.5", HEAD))
    if words[:2] == ["danlu", "up"]:
        words += ["--port", "0"]  # another person's server may have the usual one
    return site.types(*words[1:])


def join(site, line):
    """Let a second node join as in the guide."""
    address = json.loads((site.home / "ray" / "head.json").read_text())["address"]
    words = shlex.split(re.sub(r"10\.0\.0\.5:6379", address, line))
    here = [f"--node-ip-address={SECOND}", "--num-cpus=2", "--block", "--disable-usage-stats"]
    copy = site.folder / "copy of the token"
    copy.write_bytes((site.home / "ray" / "token").read_bytes())
    env = {**site.env, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(copy)}
    site.nodes.append(
        subprocess.Popen(
            [*words, *here], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
    )


def nodes_of(site):
    return [node["host"] for node in site.asks("status")["capacity"]["nodes"]]


def test_commands_of_guide_run_programs_on_two_nodes(site, store):
    lines = [
        line for block in GUIDE.blocks if block.kind == "sh" for line in block.text.split("\n")
    ]
    exports = {word for line in lines if line.startswith("export") for word in line.split()[1:]}
    known = {*site.env, "RAY_AUTH_MODE", "RAY_AUTH_TOKEN_PATH"}
    assert {word.partition("=")[0] for word in exports} <= known
    (up,) = (line for line in lines if line.startswith("danlu up"))
    (other,) = (line for line in lines if line.startswith("ray start"))
    status, run, down = (line for line in lines if line.startswith("danlu ") and line != up)

    text = follow(site, up)
    join(site, other)
    eventually(lambda: nodes_of(site) == [HEAD, SECOND], within=90)
    site.types("store", "cp", "data.txt", "s3://bucket/data/x.txt")

    assert "Ray cluster at 127.0.0.2:" in text.stderr
    assert SECOND in follow(site, status).stdout
    reported = follow(site, run).stdout
    for line in ("I am worker 0 at", "I am ps 1 at", "data ['x.txt']", "step 20"):
        assert line in reported
    hosts = set(re.findall(r"at (127\.0\.0\.[0-9]+):", reported))
    assert hosts == {HEAD, SECOND}
    assert store.buckets["bucket"]["out/step"].data == b"20"
    refused = site.types("run", "code", "--data-url", "ks3://bucket/data", "--nodes", "9", code=2)
    assert "which the nodes of the cluster do not see" in refused.stderr
    assert "nodes of the cluster (127.0.0.2: 2 CPUs, 0 GPUs, 127.0.0.3" in refused.stderr
    assert "Ray head that was started here has left" in follow(site, down).stderr


@pytest.mark.long
def test_killed_worker_costs_no_more_than_checkpoint(site, store):
    site.types("up", "--ray", "--port", "0")
    site.types("store", "cp", "data.txt", "s3://bucket/data/x.txt")
    (site.folder / "job.toml").write_text(JOB.replace("bucket/out", "bucket/again"))
    job = site.asks("submit", "job.toml")
    eventually(lambda: "again/step" in store.buckets["bucket"], within=90)

    os.kill(next(task_pids(f"{job['id']}/1/worker-1")), signal.SIGKILL)

    eventually(lambda: (view := site.asks("show", job["id"]))["ended"] and view, within=90)
    view, log = site.asks("show", job["id"]), site.types("logs", job["id"]).stdout
    ended = (view["state"], view["attempt"], view["retried"])
    assert ended == ("succeeded", 2, {"killed": 1}), log
    begun = [int(n) for n in re.findall(r"begin at (\d+)", log)]
    assert (begun[0], begun[-1] > 0) == (0, True)
    assert site.processes_of(job) == []


@pytest.mark.long
def test_job_resumes_after_restart_of_head(site, store):
    site.types("up", "--ray", "--port", "0")
    site.types("store", "cp", "data.txt", "s3://bucket/data/x.txt")
    (site.folder / "job.toml").write_text(JOB)
    job = site.asks("submit", "job.toml")
    eventually(lambda: "out/step" in store.buckets["bucket"], within=90)
    head = json.loads((site.home / "ray" / "head.json").read_text())

    os.kill(head["pid"], signal.SIGKILL)
    eventually(lambda: not site.processes_of(job))
    site.types("up", "--ray", "--port", "0")

    view = json.loads(site.types("wait", job["id"], "--json").stdout)
    assert (view["state"], view["attempt"]) == ("succeeded", 2)
    begun = [int(n) for n in re.findall(r"begin at (\d+)", site.types("logs", job["id"]).stdout)]
    assert begun[-1] > 0
    assert store.buckets["bucket"]["out/step"].data == b"60"
