"""What a lost holder left on its node is ended by the next: daemons that no agent ends."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from contracts.executor import eventually
from danlu.executors.ray.agent_actor import end_orphans
from danlu.taskdir.processes import MARK


@contextmanager
def process(mark: str, *command: str) -> Iterator[int]:
    """Run a command that waits, its mark in its environment; give its pid."""
    env = {**os.environ, MARK: mark}
    with subprocess.Popen(command or ["sleep", "600"], env=env) as started:
        expected = (command or ["sleep"])[0].encode()
        eventually(lambda: expected in Path(f"/proc/{started.pid}/cmdline").read_bytes())
        try:
            yield started.pid
        finally:
            started.kill()


def is_running(pid: int) -> bool:
    """Return True if it exists and has not ended."""
    try:
        return b"State:\tZ" not in Path(f"/proc/{pid}/status").read_bytes()
    except OSError:
        return False


def test_only_daemons_of_lost_attempt_are_ended() -> None:
    with (
        process("some-job/1/worker-0") as older,
        process("some-job/2/worker-0") as same,
        process("some-job/10/worker-0") as newer,
        process("another-job/1/worker-0") as other,
        process("some-job/odd/worker-0") as unmarked,
    ):
        end_orphans("some-job", 2)

        eventually(lambda: not is_running(older))
        assert all(map(is_running, (same, newer, other, unmarked)))


def test_agent_ends_processes_below_it() -> None:
    # As with a real agent, its command line names the module, and only its child has the mark.
    parent = f"import os, subprocess, sys; os.environ['{MARK}'] = 'some-job/1/worker-0'; "
    parent += "print(subprocess.Popen(['sleep', '600']).pid, flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", parent, "danlu.agent"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as agent:
        assert agent.stdout is not None
        child = int(agent.stdout.readline())
        eventually(lambda: b"sleep" in Path(f"/proc/{child}/cmdline").read_bytes())
        try:
            end_orphans("some-job", 2)
            assert is_running(child)

            agent.kill()
            agent.wait()
            end_orphans("some-job", 2)
            eventually(lambda: not is_running(child))
        finally:
            if is_running(child):
                os.kill(child, signal.SIGKILL)
