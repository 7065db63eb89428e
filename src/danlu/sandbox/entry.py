"""Sandbox entry: a single-threaded process that enters the sandbox and becomes the child.

A process with threads cannot move itself into namespaces. The agent therefore starts this module
and sends it an order through a pipe. The order is never on disk, because the environment in it
holds secrets. The process reports only errors and missing features, through a pipe that closes by
itself when the child starts. The base mounts can be created while code and data are still being
fetched. They come first, as a separate order.

``python -m danlu.sandbox.entry --probe FOLDER`` tries what the kernel allows.
"""

import json
import os
import resource
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from danlu.sandbox import kernel
from danlu.sandbox.root import Overlay, Root, mount_base, mount_task_paths

ORDER, ERROR_FD = 3, 4  # descriptors
PASSED_OVER = "passed over: "
RESET = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE)
_OOM_SCORE = "300"  # the kernel kills the script before the agent, which reports it


class BaseMounts(NamedTuple):
    """The mounts that do not depend on fetched inputs; fields as in :class:`Root`."""

    namespace: str
    folder: str
    private: Sequence[Sequence[str]]
    shm: int = 0

    def dump(self) -> bytes:
        return json.dumps({"ground": self._asdict()}).encode() + b"\n"


class LaunchOrder(NamedTuple):
    """What the launcher has to run, and how; ``root`` is None without namespaces.

    ``beside`` are further cgroups to join, ``rlimits`` are pairs of RLIMIT_* and a value.
    """

    parent: int
    namespace: str
    root: Root | None
    cgroup: str
    cwd: str
    argv: Sequence[str]
    env: Mapping[str, str]
    beside: Sequence[str] = ()
    rlimits: Sequence[Sequence[int]] = ()

    def dump(self) -> bytes:
        root = None if self.root is None else self.root._asdict()
        return json.dumps({**self._asdict(), "root": root}).encode()

    @classmethod
    def load(cls, data: bytes) -> "LaunchOrder":
        values: dict[str, Any] = json.loads(data)
        root = values["root"]
        if root is not None:
            root["overlays"] = [Overlay(*item) for item in root["overlays"]]
            values["root"] = Root(**root)
        return cls(**values)


def enter() -> None:
    """Carry out the order at descriptor 3.

    The process becomes the child, or reports the error and exits with code 125.
    """
    os.set_inheritable(ORDER, False)
    os.set_inheritable(ERROR_FD, False)
    try:
        with open(ORDER, "rb") as pipe:
            first = pipe.readline()
            ground = json.loads(first).get("ground")
            there = None if ground is None else _create_namespaces(BaseMounts(**ground))
            order = LaunchOrder.load(first if there is None else pipe.readline())
        lost = enter_sandbox(order, there)
        if lost:
            os.write(ERROR_FD, f"{PASSED_OVER}{', '.join(lost)}\n".encode())
        os.execve(order.argv[0], list(order.argv), dict(order.env))
    except Exception as error:
        os.write(ERROR_FD, f"! {error}\n".encode(errors="replace"))
        os._exit(125)


def reset_signals() -> None:
    """Reset signal handlers and unblock all signals, however the server was started.

    nohup, for example, ignores SIGHUP.
    """
    for number in RESET:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def enter_sandbox(
    order: LaunchOrder, there: Sequence[str] | None = None, *, at_once: bool = False
) -> Sequence[str]:
    """Enter the sandbox and return what it lacks.

    Set ``at_once`` if the process executes no other program afterwards. ``there`` is what the base
    mounts lack, if they already exist.
    """
    os.setsid()
    _write("/proc/self/oom_score_adj", _OOM_SCORE)
    for group in filter(None, (order.cgroup, *order.beside)):
        _write(group + "/cgroup.procs", "0")
    lost: Sequence[str] = ()
    if order.root is not None:
        lost = change_root(order.namespace, order.root, there, at_once=at_once)
    os.chdir(order.cwd)
    for kind, most in order.rlimits:
        _lower(kind, most)
    # Not earlier, because a change of credentials clears it.
    kernel.die_with_parent(signal.SIGKILL)
    if os.getppid() != order.parent:
        os._exit(128 + signal.SIGKILL)  # the agent died in between
    return lost


def change_root(
    namespace: str, root: Root, there: Sequence[str] | None = None, *, at_once: bool = False
) -> Sequence[str]:
    if there is None:
        there = _create_namespaces(BaseMounts(namespace, root.folder, root.private, root.shm))
    user = namespace == "user"
    mount_task_paths(root, user=user)
    kernel.pivot_root(root.folder)
    lost = there if kernel.restrict_process() else [*there, "landlock"]
    if user and os.geteuid() != 0:
        # Cached files are read-only. In the overlay they belong to the script.
        kernel.keep_capabilities(frozenset({kernel.CAP_DAC_OVERRIDE, kernel.CAP_FOWNER}))
    else:
        kernel.limit_capabilities(kernel.CONTAINER_CAPABILITIES)
        if at_once:
            kernel.give_up_capabilities(kernel.CONTAINER_CAPABILITIES)
    return lost


def _create_namespaces(ground: BaseMounts) -> Sequence[str]:
    """Create namespaces for this process and the base mounts in them. Return what they lack."""
    if ground.namespace == "user":
        uid, gid = os.geteuid(), os.getegid()
        kernel.unshare(kernel.CLONE_NEWUSER | kernel.CLONE_NEWNS)
        _write("/proc/self/setgroups", "deny")
        for name, number in (("uid_map", uid), ("gid_map", gid)):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                file.write(f"{number} {number} 1")
    else:
        kernel.unshare(kernel.CLONE_NEWNS)
    return mount_base(ground.folder, ground.private, ground.shm)


def _lower(kind: int, most: int) -> None:
    """Set the soft and the hard limit, at most to the current hard limit."""
    _, hard = resource.getrlimit(kind)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(kind, (most, most))


def _write(path: str, text: str) -> bool:
    """Write to an optional file. Return False if that is not possible, which is no error."""
    try:
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
    except OSError:
        return False
    return True


if __name__ == "__main__":
    from danlu.sandbox.probe import main

    sys.exit(main(sys.argv[1:]))
