"""Who goes into a task's place waits for it, as long as there is one thread that could be forked.

Each scene is a process of its own: a test runner has threads.
"""

import os
import signal
import subprocess
import sys
import textwrap

import pytest

from danlu.taskdir.process import started
from danlu.testing.bench import eventually

SCENE = """
import os, signal, sys, threading
from danlu.agent.doors import Doors
from danlu.agent.sandbox import Ground, Order
from danlu.taskdir.process import MARK

def say(door, words):
    "Send the order to print words; return what was printed, and what went wrong."
    order = Order(os.getpid(), "", None, "", "/", ["/bin/echo", *words], {MARK: "j/1/w-0"})
    with open(door.order, "wb") as pipe:
        pipe.write(order.dump())
    with open(door.output) as output, open(door.trouble) as trouble:
        return output.read().strip(), trouble.read()

def is_fresh(door):
    while not (words := open(f"/proc/{door.pid}/cmdline", "rb").read()):
        pass  # it is becoming another program just now
    return b"\\0-I\\0-S\\0" in words

doors = Doors()
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


def test_the_first_who_goes_in_is_there_before_and_the_next_are_fresh_processes(scene):
    assert scene("""
        doors.prepare(None)
        first, second = doors.open("j/1/w-0"), doors.open("j/1/w-0")
        print(is_fresh(first), is_fresh(second))
        print(*say(first, ["here"]), *say(second, ["there"]))
    """) == ["False", "True", "here", "there"]


def test_a_process_that_has_threads_forks_nobody(scene):
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


def test_who_waits_begins_the_place_when_it_is_told_to(scene):
    """It ends where that cannot be done, and the next one, who builds all of it, tells why."""
    assert scene("""
        doors.prepare(None)
        waiting = doors._ready.pid
        doors.lay(Ground("root", "/nonexistent/place", []))
        os.waitid(os.P_PID, waiting, os.WEXITED | os.WNOWAIT)
        door = doors.open("j/1/w-0")
        print(is_fresh(door), *say(door, ["here"]))
    """) == ["True", "here"]


def test_who_waits_has_no_file_of_the_agents_and_no_ignored_signal(scene):
    ignored, *files = scene("""
        secret = open("/etc/hostname")
        doors.prepare(None)
        door = doors.open("j/1/w-0")
        order = Order(os.getpid(), "", None, "", "/", ["/bin/sleep", "600"], {MARK: "j/1/w-0"})
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


def test_who_waits_in_vain_leaves_with_the_agent(tmp_path):
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
