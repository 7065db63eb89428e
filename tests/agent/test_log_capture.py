"""From the pipe of a script to its log, whatever comes through."""

import os
import threading

import pytest

from danlu.agent.reports.log_capture import JobLog, Pump, Redactor
from danlu.job.state import Reason
from danlu.taskdir.files import TaskDir
from danlu.taskdir.job_files import LocalJobFiles
from danlu.taskdir.log import LogWriter


class FullDisk(LocalJobFiles):
    """A disk without free space as long as ``full``."""

    full = False
    times = 0

    def append(self, name: str, data: bytes) -> None:
        if self.full:
            raise OSError(28, "No space left on device")
        self.times += 1
        super().append(name, data)


@pytest.fixture
def store(tmp_path):
    return FullDisk(tmp_path)


@pytest.fixture
def job_log(store):
    return JobLog(LogWriter(store, "", limit=1 << 30), Redactor(["canary-secret"]))


def written(store) -> bytes:
    return b"".join(store.get(name) for name, _ in store.names("log/"))


def test_our_lines_stand_on_lines_of_their_own(store, job_log):
    job_log.write(b"step 1")
    job_log.write_line("two\nlines")
    job_log.write(b" of 2\n")
    job_log.write_line("end")

    assert written(store) == (b"step 1\n[danlu] two\n[danlu] lines\n of 2\n[danlu] end\n")


def test_full_disk_leaves_reported_gap_in_log(store, job_log):
    job_log.write(b"before\n")
    store.full = True
    job_log.write(b"12345")
    job_log.write(b"67890")
    store.full = False
    job_log.write(b"after\n")

    assert written(store) == b"before\n\n[danlu] 10 bytes of output are lost here.\nafter\n"


def test_secrets_are_kept_out_over_ends_of_pieces(store, job_log):
    for piece in (b"a canary-", b"secret, cana", b"pe and ca"):
        job_log.write(piece)
    job_log.finish()

    assert written(store) == b"a ***, canape and ca"


def test_lines_that_follow_each_other_are_taken_together(store, job_log):
    read, write = os.pipe()
    pauses = []

    def pause(seconds):
        if not pauses:
            os.write(write, b"two\n")
            os.write(write, b"three\n")
            os.close(write)
        pauses.append(seconds)

    pump = Pump(read, job_log, pause=pause)
    os.write(write, b"one\n")
    pump.start()
    pump.finish(10)

    assert written(store) == b"one\ntwo\nthree\n"
    assert store.times == 2
    assert 0 < pauses[0] <= 0.02


def test_full_pipe_is_read_without_pause(store, job_log):
    """At the pace of the last bytes, no more than a quarter of it comes in a pause."""
    pauses, moments = [], iter([100.0, 100.001, 100.001])

    def pause(seconds):
        pauses.append(seconds)
        if len(pauses) == 1:
            os.write(write, b"y" * 100_000)
        else:
            os.write(write, b"z" * (1 << 19))
            os.close(write)

    read, write = os.pipe()
    pump = Pump(read, job_log, clock=lambda: next(moments), pause=pause)
    os.write(write, b"x\n")
    pump.start()
    pump.finish(10)

    assert len(written(store)) == 2 + 100_000 + (1 << 19)
    assert pauses == [0.02, pytest.approx(0.001 * (1 << 18) / 100_000)]


def test_log_capture_ends_while_pipe_is_open(store, job_log):
    read, write = os.pipe()
    pump = Pump(read, job_log)
    pump.start()
    os.write(write, b"last words")

    pump.finish(10)

    assert written(store) == b"last words"
    assert not any(thread.name == "pump" for thread in threading.enumerate())
    os.close(write)


def test_every_byte_of_a_flood_arrives(bench):
    """Megabytes without a newline, NULs, broken UTF-8, bars: the log is bytes."""
    script = """
        import os, sys
        block = bytes(range(256)) * 4096
        for _ in range(64):
            sys.stdout.buffer.write(block)
        sys.stdout.buffer.flush()
        os.write(2, b"\\xff\\xfe\\r50%\\r100%\\x1b[31mred\\x1b[0m\\n")
    """
    files = bench.plan(script)

    outcome = bench.run(files)

    reader = files.log_reader()
    head = len(b"[danlu] ") + reader.read(0, 200).data.index(b"\n") - 7
    data, at = bytearray(), head
    while chunk := reader.read(at).data:
        data += chunk
        at += len(chunk)
    block = bytes(range(256)) * 4096
    assert outcome.reason is Reason.DONE
    assert data[: 64 << 20] == block * 64
    assert data[64 << 20 :].startswith(b"\xff\xfe\r50%\r100%\x1b[31mred\x1b[0m\n")


def test_log_past_its_limit_keeps_beginning_and_end(bench):
    from dataclasses import replace

    bench.limits = replace(bench.limits, log=24 << 20)
    files = bench.plan(
        "print('first')\nimport sys\nfor _ in range(100):\n"
        "    sys.stdout.write('x' * (1 << 20))\nprint()\nraise ValueError('last')"
    )

    outcome = bench.run(files)

    sizes = [size for _, size in files.store.names("1/worker-0/log/")]
    assert sum(sizes) <= 40 << 20
    assert b"first\n" in files.log_reader().read(0, 1000).data
    assert outcome.failure.last_lines[-1] == "ValueError: last"
    assert max(map(len, outcome.failure.last_lines)) <= 2000


def test_grandchild_that_keeps_pipe_does_not_keep_job(bench):
    files = bench.plan(
        "import subprocess\nsubprocess.Popen(['sh', '-c', 'while :; do echo y; done'])\n"
    )

    outcome = bench.run(files)

    assert outcome.reason is Reason.DONE
    assert bench.processes() == []


@pytest.mark.long
def test_gigabyte_of_lines_is_taken_in_bounded_memory(bench, until):
    files = bench.plan(
        "import os\nblock = b'y\\n' * (1 << 19)\nfor _ in range(1024): os.write(1, block)"
    )
    agent = bench.start(files)
    peak = 0
    while agent.poll() is None:
        with open(f"/proc/{agent.pid}/status") as status:
            lines = [line for line in status if line.startswith("VmHWM")]
        peak = max(peak, *(int(line.split()[1]) for line in lines), 0)

    assert files.outcome().reason is Reason.DONE
    assert TaskDir(files.store, 1, "worker-0").log_reader().end() > 1 << 30
    assert peak < 80_000  # kB
