"""A home on a full disk (bytes or files), and no server: a user can free space."""

import errno
import os
import shutil
import signal

import pytest

from danlu.sandbox import kernel

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="a small disk is mounted by root")

SIZES = {"bytes": "size=64m", "files": "size=128m,nr_inodes=4000"}
WRITES = """\
with open('model.h5', 'wb') as file:
    file.write(bytes(1 << 20))
"""


@pytest.fixture(params=SIZES)
def full(request, alone):
    """A user with a home on a small disk with one ended job; full, and without a server."""
    kernel.mount("tmpfs", str(alone.home), "tmpfs", options=SIZES[request.param])
    try:
        script = alone.script(WRITES)
        alone.types("run", script, "--dialect", "modelarts", "--name", "old")
        (alone.folder / "data.csv").write_text("1,2")
        alone.types("store", "cp", "data.csv", "obs://bucket/data/data.csv")
        alone.waits_for((alone.home / "reserve" / "31").exists)
        alone.types("down")
        fill(alone.home, request.param)
        yield alone
        alone.types("down")
    finally:
        kernel.unmount(str(alone.home))


def fill(home, kind):
    """Fill the disk until the kernel reports that it is full."""
    (home / "ballast").mkdir()
    number = 0
    try:
        while True:
            number += 1
            with open(home / "ballast" / str(number), "wb", buffering=0) as file:
                while kind == "bytes" and file.write(bytes(4096)):
                    pass
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise


def test_jobs_are_listed_and_removed_on_full_disk(full):
    assert "old" in full.types("ls").stdout
    assert "succeeded" in full.types("show", "old").stdout
    assert "data.csv" in full.types("store", "ls", "-r", "obs://bucket").stdout
    full.types("down")
    full.types("store", "rm", "obs://bucket/data/data.csv")
    full.types("get", "old", "here")
    assert (full.folder / "here/working-directory/model.h5").stat().st_size == 1 << 20
    full.types("rm", "old", code=1)

    full.types("rm", "--force", "old")

    assert full.asks("ls")["jobs"] == []
    assert not any((full.home / "jobs").glob("*/*"))


LOOKS = """\
import argparse, os
parser = argparse.ArgumentParser()
parser.add_argument('--home')
print('sees', sorted(os.listdir(parser.parse_args().home)))
"""


def test_jobs_wait_for_isolation_on_a_full_disk(alone):
    """A job that is queued when its server is killed never runs without isolation."""
    kernel.mount("tmpfs", str(alone.home), "tmpfs", options="size=128m,nr_inodes=4000")
    try:
        first = alone.script("import time\ntime.sleep(600)\n", "first.py")
        second = alone.script(LOOKS, "second.py")
        run = ("--dialect", "modelarts", "--cpus", "3", "--detach")
        alone.types("run", first, "--name", "first", "--retries", "0", *run)
        words = ("run", second, "--name", "second", *run, "-p", f"home={alone.home}")
        alone.types(*words)
        alone.waits_for(lambda: alone.asks("show", "first")["state"] == "running")
        alone.kills_server()
        fill(alone.home, "files")

        for pid in alone.processes_of(alone.asks("show", "first")):
            os.kill(pid, signal.SIGKILL)
        waits = alone.waits_for(lambda: alone.asks("show", "second")["waits"])
        assert "isolation" in waits
        assert alone.asks("show", "second")["state"] == "queued"

        shutil.rmtree(alone.home / "ballast")
        alone.types("wait", "second")
        # Without isolation, a script sees the database and the socket of the server.
        assert "sees ['store', 'work']" in alone.types("logs", "second").stdout
        assert "namespaces: root" in alone.types("show", "second").stdout
    finally:
        alone.types("down")
        kernel.unmount(str(alone.home))
