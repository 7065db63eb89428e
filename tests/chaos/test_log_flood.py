"""A script writes as fast as it can: the server stays small, and the log within its limit."""

import re
import threading
from pathlib import Path

import pytest

from danlu.taskdir.log import SEGMENT
from repetitions import tried

SCRIPT = r"""
import sys
out, size = sys.stdout.buffer, int(sys.argv[1].split("=")[1]) << 20
out.write(b"first line\n")
line = b"step 123 loss 0.12345 " * 5 + b"\n"
for _ in range(size // len(line)):
    out.write(line)
out.write(b"x" * (size // 10) + b"\n")  # one line
for number in range(size // 1000):
    out.write(b"\r%d%% of one line" % number)
out.write(b"\n\x00\x1b[31m\xc4\xe3\xba\xc3\xff\xfe\n")
out.write(b"last line\n")
"""
LIMIT = 24 << 20


@pytest.fixture
def limit(monkeypatch, settings):
    monkeypatch.setenv("DANLU_LOG_LIMIT", str(LIMIT))
    return LIMIT


def memory(settings, field):
    pid = re.search(r'"pid": *(\d+)', (settings.home / "server.json").read_text())[1]
    return int(re.search(rf"{field}:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())[1]) << 10


@tried(quick=40, long=1000)
def test_a_flood_is_kept_within_its_limit(limit, settings, client, upload, measured, count):
    code = upload(SCRIPT)
    request = {"dialect": "modelarts", "code": code, "boot_file": "train.py"}
    before = memory(settings, "VmRSS")
    job = client.submit({**request, "parameters": {"size": count}})["id"]
    read = Reader(client, job)
    read.start()

    view = client.wait(job, timeout=3000)
    read.join()

    (folder,) = settings.jobs.glob(f"{job}/1/*/log")
    kept = sum(path.stat().st_size for path in folder.iterdir())
    grown = memory(settings, "VmHWM") - before
    shown = [line.text for line in client.lines(job, tail=3).lines if "[danlu]" not in line.text]
    measured("F26", megabytes=count, kept=kept >> 20, limit=LIMIT >> 20, server_grew=grown >> 20)
    assert view["state"] == "succeeded"
    assert kept <= limit + SEGMENT
    assert b"first line\nstep 123" in client.raw_log(job, "worker-0").data
    assert shown[-1] == "last line"
    assert read.last == "last line"
    assert read.gaps or read.lines > count << 13  # a reader that keeps up misses nothing
    assert grown < 64 << 20


class Reader(threading.Thread):
    """A client that follows the log all the time."""

    def __init__(self, client, job):
        super().__init__(daemon=True)
        self.client, self.job = client, job
        self.lines, self.gaps, self.last = 0, 0, ""

    def run(self):
        for line in self.client.follow(self.job):
            self.lines += 1
            self.gaps += "bytes of output were dropped here" in line.text
            if "[danlu]" not in line.text:
                self.last = line.text
