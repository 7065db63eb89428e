"""What a fork of the waiting process has inherited and must not keep."""

import subprocess
import sys

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
from danlu.agent.doors import Doors
from danlu.agent.sandbox import Order
from danlu.taskdir.process import MARK
from danlu_runtime.warm.waiting import hear_as_started

for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGCHLD):
    signal.signal(number, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGUSR1])
if os.fork() == 0:
    hear_as_started()
    exec(sys.argv[1])
    sys.exit()
signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # an agent waits for its children
door = Doors().open("j/1/w-0")
words = [sys.executable, "-c", sys.argv[1]]
with open(door.order, "wb") as pipe:
    pipe.write(Order(os.getpid(), "", None, "", "/", words, {MARK: "j/1/w-0"}).dump())
sys.stderr.write(open(door.output).read())
"""


def test_a_warm_script_hears_the_signals_a_cold_one_does_though_the_server_is_deaf() -> None:
    scene = subprocess.run(
        [sys.executable, "-c", SCENE, SHOW], capture_output=True, text=True, timeout=60
    )
    warm, cold = scene.stdout, scene.stderr
    assert "'SigBlk': '0x0'" in cold
    assert warm == cold
