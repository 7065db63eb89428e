"""Usage of processes from /proc: enough to detect activity."""

import os
import socket
import subprocess
import sys

import pytest

from danlu.agent.reports.hang_detector import bytes_by_inode, usage_of


@pytest.fixture
def python():
    """Start a Python that runs one statement for each line it is given, and prints when it has."""
    begun = []

    def start():
        code = "import os, socket, sys, time\nfor line in sys.stdin: exec(line); print(flush=True)"
        pipe = subprocess.PIPE
        process = subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe)
        begun.append(process)
        return process

    yield start
    for process in begun:
        process.kill()
        process.communicate()


def does(process, statement):
    process.stdin.write(statement.encode() + b"\n")
    process.stdin.flush()
    assert process.stdout.readline() == b"\n"


def test_processor_time_is_counted_that_of_children_too(python):
    process = python()
    does(process, "pass")
    before = usage_of({process.pid})

    does(process, "os.fork() or (sum(range(5_000_000)), os._exit(0)); os.wait()")

    assert usage_of({process.pid}).cpu > before.cpu


def test_a_process_that_waits_uses_nothing(python):
    process = python()
    does(process, "pass")

    assert usage_of({process.pid}) == usage_of({process.pid})


def test_bytes_of_files_are_counted(python, tmp_path):
    process = python()
    does(process, "pass")
    before = usage_of({process.pid})

    does(process, f"open({str(tmp_path / 'x')!r}, 'wb').write(bytes(100_000))")

    assert usage_of({process.pid}).data - before.data >= 100_000


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_bytes_that_recv_takes_are_counted(python, family):
    """A download by recv is in no file of /proc."""
    address = "127.0.0.1" if family == socket.AF_INET else "::1"
    try:
        server = socket.create_server((address, 0), family=family)
    except OSError:
        pytest.skip("no such addresses here")
    with server:
        process = python()
        port = server.getsockname()[1]
        does(process, f"s = socket.create_connection(({address!r}, {port}))")
        here, _ = server.accept()
        before = usage_of({process.pid})

        with here:
            here.sendall(bytes(50_000))
            does(process, "s.recv(50_000, socket.MSG_WAITALL)")

            assert usage_of({process.pid}).data - before.data >= 50_000


def test_sent_bytes_are_counted_after_arrival():
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as near,
        server.accept()[0] as far,
    ):
        near.sendall(bytes(1000))
        far.recv(1000, socket.MSG_WAITALL)

        found = bytes_by_inode()

        assert found[os.fstat(near.fileno()).st_ino] >= 1000
        assert found[os.fstat(far.fileno()).st_ino] >= 1000


def test_a_process_that_is_gone_counts_as_nothing(python):
    process = python()
    process.kill()
    process.wait()

    assert usage_of({process.pid})[1:] == (0, 0)
