"""Agent fork server: a process that has imported all modules of an agent and forks agents.

The executor starts ``python -m danlu.agent.fork_server`` with a socket as standard input. A message
on the socket is the arguments of an agent as JSON, with a descriptor for its output. The reply is
the pid of the agent with a pidfd, on which the executor waits for its end.

The process has one thread and keeps no state of an agent. A forked agent therefore equals a fresh
Python process, and starts in a twentieth of the time. When idle, the fork server creates one spare
agent in advance (see ``SpareAgent``). It exits when the other end of the socket is closed. Its
agents continue to run.
"""

import gc
import json
import os
import select
import signal
import socket
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from danlu.agent.__main__ import main as live
from danlu.agent.script.sandbox_launcher import AgentResources, SpareAgent, wait_for_task
from danlu.job.plan import Task
from danlu.job.wire import learn
from danlu.taskdir.processes import boot_id

_MAX_MESSAGE = 65_536  # bytes of one message
_CALM = 100  # milliseconds without a request; the last task's script has started by then


def main() -> int:
    os.close(os.pidfd_open(os.getpid()))  # fails on Linux before 5.3, which has no pidfds
    asked = socket.socket(fileno=os.dup(0))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps; no exit status is needed
    learn(Task)
    boot_id()
    gc.collect()
    gc.freeze()  # the collectors of agents then write to no shared pages
    server = _ForkServer(asked)
    try:
        while server.serve():
            pass
    except ConnectionError:
        pass  # the executor was killed; agents do not need it
    return 0


@dataclass
class _ForkServer:
    asked: socket.socket
    spare: SpareAgent | None = None

    def serve(self) -> bool:
        """Handle one request for an agent. Return False if the socket was closed.

        Create a spare agent first if there is none and no request is pending.
        """
        if self.spare is None and _is_idle(self.asked):
            self.spare = self._fork_spare()
        message, handles, _, _ = socket.recv_fds(self.asked, _MAX_MESSAGE, 1)
        if not message:
            return False
        (output,) = handles
        spare, self.spare = self.spare, None
        if spare is not None and spare.assign_task(message, output):
            _reply(self.asked, spare.pid, spare.handle)
        else:
            _reply(self.asked, *self._fork_agent(message, output))
        os.close(output)
        return True

    def _fork_agent(self, message: bytes, output: int) -> tuple[int, int | None]:
        pid = os.fork()
        if pid == 0:
            self.asked.close()
            _run_agent(json.loads(message), output)
        try:
            return pid, os.pidfd_open(pid)
        except ProcessLookupError:
            return pid, None  # it has already ended

    def _fork_spare(self) -> SpareAgent | None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            pid = os.fork()
            if pid == 0:
                ours.close()
                self.asked.close()
                _wait(theirs)
            try:
                return SpareAgent(pid, os.pidfd_open(pid), ours)
            except ProcessLookupError:
                ours.close()
                return None


def _is_idle(asked: socket.socket) -> bool:
    waiting = select.poll()
    waiting.register(asked, select.POLLIN)
    return not waiting.poll(_CALM)


def _reply(asked: socket.socket, pid: int, handle: int | None) -> None:
    """Send the pid of an agent and its pidfd; without a pidfd if it has already ended."""
    answer = json.dumps({"pid": pid}).encode()
    if handle is None:
        asked.send(answer)
        return
    try:
        socket.send_fds(asked, [answer], [handle])
    finally:
        os.close(handle)


def _wait(asked: socket.socket) -> None:
    """Run as a spare agent: wait for a task, then run it."""
    try:
        _detach_session()
        message, output, resources = wait_for_task(asked, _MAX_MESSAGE)
        _run_agent(json.loads(message), output, resources)
    finally:
        os._exit(1)


def _detach_session() -> None:
    """Create a new session, without the standard input of the fork server."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)


def _run_agent(
    arguments: Sequence[str], output: int, resources: AgentResources | None = None
) -> None:
    """Run an agent with its own session and output, then exit the process."""
    code = 1
    try:
        if resources is None:
            _detach_session()
        for target in (1, 2):
            os.dup2(output, target)
        os.close(output)
        code = live(arguments, resources)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        # sys.exit would destroy all modules, which takes time. The agent's threads have ended.
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)


if __name__ == "__main__":
    sys.exit(main())
