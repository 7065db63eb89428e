"""Sandbox launchers: forked while the process has one thread, otherwise spawned.

Each scene is a process of its own: a test runner has threads.
"""

import os
import signal
import subprocess
import sys
import textwrap

import pytest

from contracts.executor import eventually
from danlu.taskdir.processes import started

SCENE = """
import os, signal, sys, threading
from danlu.agent.script.sandbox_launcher import LauncherPool
from danlu.sandbox.entry import BaseMounts, LaunchOrder
from danlu.taskdir.processes import MARK

def say(door, words):
    "Send the order to print words; return what was printed, and what went wrong."
    order = LaunchOrder(os.getpid(), "", None, "", "/", ["/bin/echo", *words], {MARK: "j/1/w-0"})
    with open(door.order, "wb") as pipe:
        pipe.write(order.dump())
    with open(door.output) as output, open(door.trouble) as trouble:
        return output.read().strip(), trouble.read()

def is_fresh(door):
    while not (words := open(f"/proc/{door.pid}/cmdline", "rb").read()):
        pass  # it is becoming another program just now
    return b"\\0-I\\0-S\\0" in words

doors = LauncherPool()
"""


@pytest.fixture
def scene():
    def run(text):
        done = subprocess.run(
            [sys.executable, "-c", SCENE + textwrap.dedent(text)],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    return run


def test_first_launcher_is_forked_others_are_spawned(scene):
    assert scene("""
        doors.prepare(None)
        first, second = doors.open("j/1/w-0"), doors.open("j/1/w-0")
        print(is_fresh(first), is_fresh(second))
        print(*say(first, ["here"]), *say(second, ["there"]))
    """) == ["False", "True", "here", "there"]


def test_process_with_threads_forks_no_launcher(scene):
    assert scene("""
        threading.Thread(target=threading.Event().wait, daemon=True).start()
        doors.prepare(None)
        print(is_fresh(doors.open("j/1/w-0")))
    """) == ["True"]


def test_one_that_was_killed_is_replaced(scene):
    assert scene("""
        doors.prepare(None)
        os.kill(doors._ready.pid, signal.SIGKILL)
        os.waitid(os.P_PID, doors._ready.pid, os.WEXITED | os.WNOWAIT)
        door = doors.open("j/1/w-0")
        print(is_fresh(door), *say(door, ["here"]))
    """) == ["True", "here"]


def test_waiting_launcher_creates_base_mounts_on_request(scene):
    """If the mounts fail, it exits; the next launcher mounts everything and reports the error."""
    assert scene("""
        doors.prepare(None)
        waiting = doors._ready.pid
        doors.send_base_mounts(BaseMounts("root", "/nonexistent/place", []))
        os.waitid(os.P_PID, waiting, os.WEXITED | os.WNOWAIT)
        door = doors.open("j/1/w-0")
        print(is_fresh(door), *say(door, ["here"]))
    """) == ["True", "here"]


def test_waiting_launcher_inherits_no_files_and_signals(scene):
    ignored, *files = scene("""
        secret = open("/etc/hostname")
        doors.prepare(None)
        door = doors.open("j/1/w-0")
        words = ["/bin/sleep", "600"]
        order = LaunchOrder(os.getpid(), "", None, "", "/", words, {MARK: "j/1/w-0"})
        with open(door.order, "wb") as pipe:
            pipe.write(order.dump())
        open(door.trouble).read()  # closed by the start of the program
        while "(sleeping)" not in (status := open(f"/proc/{door.pid}/status").read()):
            pass  # it is still being loaded, and opens its libraries
        ignored = int(status.partition("SigIgn:")[2].split()[0], 16)
        # Of those a program can set: the C library keeps 32 and 33, and may be told to ignore them.
        names = {s.name for s in signal.Signals if ignored >> (s - 1) & 1} - {"SIGXFSZ"}
        print(",".join(names) or "none")
        folder = f"/proc/{door.pid}/fd"
        print(*(os.readlink(f"{folder}/{number}") for number in os.listdir(folder)))
        os.kill(door.pid, signal.SIGKILL)
    """)

    assert ignored == "none"
    # Of ours there is the input and one pipe.
    assert set(files) == {"/dev/null", files[1]}
    assert files[1] == files[2]


def test_unused_launcher_exits_with_the_agent(tmp_path):
    agent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            SCENE + "doors.prepare(None); print(doors._ready.pid, flush=True); signal.pause()",
        ],
        stdout=subprocess.PIPE,
    )
    pid = int(agent.stdout.readline())
    assert started(pid) is not None

    os.kill(agent.pid, signal.SIGKILL)
    agent.communicate()

    eventually(lambda: started(pid) is None)
