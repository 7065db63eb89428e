"""The disk of the server is full, of bytes or of files: it stays, and so does every job."""

import errno
import os
import re

import pytest

from contracts.executor import eventually
from danlu.errors import Unavailable
from danlu.sandbox import kernel
from danlu.taskdir.processes import task_pids

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="a small disk is mounted by root")

SIZES = {"bytes": "size=32m", "files": "size=64m,nr_inodes=4000"}


@pytest.fixture(params=SIZES)
def disk(request, tmp_path):
    """A small disk that is the server's home."""
    home = tmp_path / "home"
    home.mkdir()
    kernel.mount("tmpfs", str(home), "tmpfs", options=SIZES[request.param])
    yield Disk(home, request.param)
    kernel.unmount(str(home))


class Disk:
    def __init__(self, folder, kind):
        self.ballast = folder / "ballast"
        self.kind = kind

    def fill(self):
        """Fill the disk until the kernel reports that it is full."""
        self.ballast.mkdir(exist_ok=True)
        number = len(os.listdir(self.ballast))
        try:
            while True:
                number += 1
                with open(self.ballast / str(number), "wb", buffering=0) as file:
                    while self.kind == "bytes" and file.write(bytes(4096)):
                        pass
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise

    def free(self):
        for path in self.ballast.iterdir():
            path.unlink()


@pytest.mark.timeout(300)
def test_full_disk_costs_no_job_and_no_server(
    disk, settings, client, waits_for, post_once, tmp_path
):
    running = client.submit({**waits_for, "cpus": 4})["id"]
    eventually(lambda: "up" in [line.text for line in client.lines(running).lines])
    waiting = client.submit({**waits_for, "cpus": 4})["id"]
    server = (settings.home / "server.json").read_text()

    disk.fill()
    accepted = [job for job in (tried(post_once, waits_for) for _ in range(3)) if job]
    assert disk.kind == "files" or not accepted
    known = [job["id"] for job in client.jobs()["jobs"]]
    assert sorted(known) == sorted([running, waiting, *accepted])
    assert client.job(running)["state"] == "running"
    disk.fill()  # whatever was freed
    (tmp_path / "end").touch()
    eventually(lambda: not list(task_pids(f"{running}/")))
    assert client.job(waiting)["state"] in ("queued", "starting")

    disk.free()

    assert client.wait(running, timeout=60)["state"] == "succeeded"
    again = client.submit(waits_for)["id"]
    for job in (waiting, *accepted, again):
        assert client.wait(job, timeout=60)["state"] == "succeeded"
    assert (settings.home / "server.json").read_text() == server


def tried(post_once, request):
    """Return the id of an accepted job, None if the disk has no space for one."""
    try:
        return post_once(request)
    except Unavailable as error:
        if not re.search("full|No space|cannot write", error.message):
            raise
        return None
