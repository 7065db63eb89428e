"""A Ray cluster of several nodes on this machine, separate from other clusters.

Nodes have loopback addresses of their own, so that an address identifies a node.
"""

import contextlib
import importlib
import importlib.util
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from contracts.executor import eventually
from danlu.executors.ray.access import ray_environment

# Loopback, and not 127.0.0.1: Ray turns that into an address the network can reach.
HEAD, SECOND, THIRD = "127.0.0.2", "127.0.0.3", "127.0.0.4"
TOKEN = "canary-ray-" + "0123456789abcdef" * 4


@dataclass
class TestCluster:
    """``folder`` holds all files of Ray; nodes join and get lost."""

    __test__ = False

    cluster: Any
    folder: Path
    nodes: dict[str, Any]

    @property
    def address(self) -> str:
        return str(self.cluster.address)

    def join(self, host: str, **capacity: Any) -> None:
        self.nodes[host] = self.cluster.add_node(
            node_ip_address=host, include_dashboard=False, **capacity
        )

    def lose(self, host: str) -> None:
        """Take a node away as a power cut does."""
        self.cluster.remove_node(self.nodes.pop(host), allow_graceful=False)


def require_ray() -> None:
    if importlib.util.find_spec("ray") is None:
        pytest.skip("the ray extra is not installed")


@contextmanager
def running_cluster(**head: Any) -> Iterator[TestCluster]:
    """Run a head with the given capacity; further nodes join it."""
    require_ray()
    # Sockets lie in the folder, and their paths must stay under 108 bytes: not below tmp_path.
    folder = tempfile.mkdtemp(prefix="danlu-ray-", dir="/tmp")
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    before = dict(os.environ)
    # Set before the import: Ray's own library reads these once, when it is loaded.
    os.environ.update({**ray_environment(TOKEN), "RAY_TMPDIR": folder})
    found = None
    try:
        ray_cluster = importlib.import_module("ray.cluster_utils").Cluster
        found = TestCluster(ray_cluster(), Path(folder), {})
        found.join(HEAD, **head)
        yield found
    finally:
        if found is not None:
            found.cluster.shutdown()
        for number, handler in handlers.items():
            signal.signal(number, handler)
        os.environ.clear()
        os.environ.update(before)
        for pid in processes_of(folder):
            os.kill(pid, signal.SIGKILL)
        eventually(lambda: not processes_of(folder))
        shutil.rmtree(folder, ignore_errors=True)


def end_nodes_of(home: str) -> None:
    """See that all of ours has left a home; end nodes, which may outlive their head a while."""
    eventually(lambda: not _ours(home))
    for pid in processes_of(home):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _ours(home: str) -> list[int]:
    """Return what is left of server, driver, head and agents; a node of Ray's is not ours."""
    words = (b"danlu.server", b"danlu.executors", b"danlu.agent", b"--head")
    found = []
    for pid in processes_of(home):
        with contextlib.suppress(OSError):
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
            if any(word in command for word in words):
                found.append(pid)
    return found


def processes_of(folder: str) -> list[int]:
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
