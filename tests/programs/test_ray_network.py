"""A Ray cluster of machines that reach each other by a network: two network namespaces.

Nothing of one is on the loopback of the other, as on real machines; what was planned with a
loopback address, or opened on one, is not found.
"""

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ray_cluster import end_nodes_of, require_ray

pytestmark = [pytest.mark.ray, pytest.mark.long, pytest.mark.timeout(900)]

BIN = Path(sys.executable).parent
FIRST, SECOND = "10.213.77.1", "10.213.77.2"
STORE = """
import sys, time
from contracts.s3_server import serve
from contracts.s3_server import SmallS3
with serve(SmallS3("bucket"), host=sys.argv[1]) as url:
    print(url, flush=True)
    time.sleep(3600)
"""
TRAIN = """
import argparse, socket, time
parser = argparse.ArgumentParser()
for name in ("job_name", "ps_hosts", "worker_hosts"):
    parser.add_argument("--" + name)
parser.add_argument("--task_index", type=int)
args, _ = parser.parse_known_args()
hosts = {"ps": args.ps_hosts.split(","), "worker": args.worker_hosts.split(",")}
host, port = hosts[args.job_name][args.task_index].rsplit(":", 1)
print("I am", args.job_name, args.task_index, "at", host, flush=True)
server = socket.create_server((host, int(port)))
if args.job_name == "ps":
    while True:
        server.accept()[0].close()
for peer in hosts["ps"]:
    for _ in range(600):
        try:
            socket.create_connection(peer.rsplit(":", 1), 5).close()
            break
        except OSError:
            time.sleep(0.1)
    else:
        raise SystemExit("nobody at " + peer)
print("worker", args.task_index, "has seen every ps", flush=True)
"""

NAMED = Path(__file__).with_name("named_hosts.py")
NAMED_JOB = """
dialect = "ti"
code = "named"
output_path = "s3://bucket/ti"
nodes = 2
"""


def run(*words, **more):
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, **more)
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    return done


class Network:
    """Two namespaces and the wire between them; what runs in them is ended with them."""

    def __init__(self, home):
        self.names = [f"danlu-{os.getpid()}-{number}" for number in (1, 2)]
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("DANLU_", "RAY_"))}
        self.env |= {"DANLU_HOME": str(home), "HOME": str(home), "NO_COLOR": "1"}
        self.begun = []

    def make(self):
        wires = [f"dn{os.getpid() % 100_000}{end}" for end in "ab"]
        for name in self.names:
            run("ip", "netns", "add", name)
        run("ip", "link", "add", wires[0], "type", "veth", "peer", "name", wires[1])
        for name, wire, address in zip(self.names, wires, (FIRST, SECOND), strict=True):
            run("ip", "link", "set", wire, "netns", name)
            run("ip", "-n", name, "addr", "add", f"{address}/24", "dev", wire)
            run("ip", "-n", name, "link", "set", wire, "up")
            run("ip", "-n", name, "link", "set", "lo", "up")
            run("ip", "-n", name, "route", "add", "default", "dev", wire)

    def close(self):
        for process in self.begun:
            process.terminate()
            process.communicate()
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)

    def on(self, number, *words, **more):
        at = ["ip", "netns", "exec", self.names[number]]
        return run(*at, *words, env=self.env, timeout=300, **more)

    def begin(self, number, *words, **more):
        at = ["ip", "netns", "exec", self.names[number]]
        self.begun.append(subprocess.Popen([*at, *map(str, words)], text=True, **more))
        return self.begun[-1]


@pytest.fixture
def network(tmp_path):
    require_ray()
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("network namespaces need root and the program 'ip'")
    network = Network(tmp_path / "home")
    try:
        network.make()
    except AssertionError as error:
        network.close()
        pytest.skip(f"this machine allows no network namespaces: {error}")
    yield network
    subprocess.run(
        ["ip", "netns", "exec", network.names[0], BIN / "danlu", "down"], env=network.env
    )
    network.close()
    end_nodes_of(str(tmp_path / "home"))


def test_tasks_of_job_find_each_other_over_network(network, tmp_path):
    store = network.begin(0, sys.executable, "-c", STORE, FIRST, stdout=subprocess.PIPE)
    network.env |= {
        "DANLU_S3_ENDPOINT": store.stdout.readline().strip(),
        "DANLU_S3_ACCESS_KEY": "danlu-full",
        "DANLU_S3_SECRET_KEY": "danlu-full-secret",
        "DANLU_CLUSTER_STORE": "s3://bucket/danlu",
        "DANLU_NODE_HOME": str(tmp_path / "node"),
        "DANLU_CPUS": "2",
    }
    (tmp_path / "train.py").write_text(TRAIN)
    output = network.on(0, BIN / "danlu", "up", "--ray", "--host", FIRST, "--port", "0").stderr
    (join,) = re.findall(r"ray start --address=\S+", output)
    token = tmp_path / "home" / "ray" / "token"
    auth = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token)}
    _join(network, join.split()[1:], {**network.env, **auth}, tmp_path / "node.log")

    reported = network.on(
        0,
        *(BIN / "danlu", "run", tmp_path / "train.py", "--dialect", "dls", "--nodes", "2"),
        *("--train-url", "s3://bucket/out"),
    ).stdout

    assert set(re.findall(r"at (\S+)", reported)) >= {FIRST, SECOND}
    for worker in (0, 1):
        assert f"worker {worker} has seen every ps" in reported
    _machines_have_names(network, tmp_path)


def _machines_have_names(network, tmp_path):
    """Instances of a TI job reach each other by the names that the service gives them."""
    (tmp_path / "named").mkdir()
    shutil.copy(NAMED, tmp_path / "named" / "train.py")
    (tmp_path / "job.toml").write_text(NAMED_JOB)

    reported = network.on(0, BIN / "danlu", "submit", tmp_path / "job.toml", "--follow").stdout

    lines = re.findall(r"(algo-\d) to (algo-\d) I am (algo-\d) (\S+)", reported)
    hosts = {name: address for _, name, _, address in lines}
    assert set(hosts.values()) == {FIRST, SECOND}  # Ray decides which has which
    expected = {(host, name, name, hosts[name]) for host in hosts for name in hosts}
    assert set(lines) == expected


def _join(network, words, env, text):
    """Let the second machine join; Ray gives itself 30 seconds for that, which may be too few."""
    deadline = time.monotonic() + 240
    node = None
    while SECOND not in network.on(0, BIN / "danlu", "status").stdout:
        assert time.monotonic() < deadline, text.read_text()
        if node is None or node.poll() is not None:
            with text.open("w") as log:
                command = [BIN / "ray", *words, "--num-cpus=2", "--block", "--disable-usage-stats"]
                node = network.begin(1, *command, env=env, stdout=log, stderr=log)
        time.sleep(1)
