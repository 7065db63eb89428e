"""The waiting process of a server that was killed, and what its forks must not inherit."""

import os
import subprocess
import sys
from pathlib import Path

SHOW = """
import signal
lines = dict(line.split(":", 1) for line in open("/proc/self/status"))
theirs = 0b11 << 31  # two signals are the C library's own, for its threads
print({name: hex(int(lines[name], 16) & ~theirs) for name in ("SigBlk", "SigIgn", "SigCgt")})
print([str(signal.getsignal(number)).split(" at ")[0] for number in sorted(signal.valid_signals())])
"""
# As nohup and a shell without job control start a server, in a process of one thread.
SCENE = """
import os, signal, sys
from danlu.agent.script.sandbox_launcher import LauncherPool
from danlu.sandbox.entry import LaunchOrder
from danlu.taskdir.processes import MARK
from danlu_runtime.warm.waiting import set_startup_signals

for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGCHLD):
    signal.signal(number, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGUSR1])
if os.fork() == 0:
    set_startup_signals()
    exec(sys.argv[1])
    sys.exit()
signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # an agent waits for its children
door = LauncherPool().open("j/1/w-0")
words = [sys.executable, "-c", sys.argv[1]]
with open(door.order, "wb") as pipe:
    pipe.write(LaunchOrder(os.getpid(), "", None, "", "/", words, {MARK: "j/1/w-0"}).dump())
sys.stderr.write(open(door.output).read())
"""


LATE = """
import sys
from danlu_runtime.warm.waiting import serve
serve(sys.argv[1], sys.argv[2], int(sys.argv[3]), None, b"")
"""


def test_warm_script_receives_signals_server_ignores() -> None:
    scene = subprocess.run(
        [sys.executable, "-c", SCENE, SHOW], capture_output=True, text=True, timeout=60
    )
    warm, cold = scene.stdout, scene.stderr
    assert "'SigBlk': '0x0'" in cold
    assert warm == cold


def test_process_of_killed_server_uses_no_slot(
    tmp_path: Path,
) -> None:
    (tmp_path / "key.sock").touch()  # of the process that waits for the next server
    reading, server = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-c", LATE, str(tmp_path), "key", str(server)],
        pass_fds=[server],
        timeout=60,
    )
    os.close(server)
    assert done.returncode == 0
    assert not (tmp_path / "key.sock").is_socket()
