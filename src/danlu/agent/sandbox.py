"""Between agent and child: a process of one thread that enters its place and becomes the child.

A threaded process cannot move itself into namespaces, so the agent starts this module, hands it
an order through a pipe (the environment holds secrets: it never lies on disk), and hears back
only when something went wrong: the pipe for that closes by itself when the child begins. What can
be built while code and data are still being fetched comes first, as an order of its own.

``python -m danlu.agent.sandbox --probe FOLDER`` tries what the kernel allows, by doing it.
"""

import json
import os
import resource
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from danlu.agent import kernel, landlock
from danlu.agent.root import Overlay, Root, furnish, lay_ground

ORDER, TROUBLE = 3, 4  # descriptors
RESET = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE)
_OOM_SCORE = "300"  # the script goes before the agent that must tell of it


class Ground(NamedTuple):
    """The part of a place that does not depend on what is fetched; as in :class:`Root`."""

    namespace: str
    folder: str
    private: Sequence[Sequence[str]]

    def dump(self) -> bytes:
        return json.dumps({"ground": self._asdict()}).encode() + b"\n"


class Order(NamedTuple):
    """What becomes of the process; ``root`` is None where there are no namespaces.

    ``beside`` are further groups to join, ``ceilings`` pairs of RLIMIT_* and a number.
    """

    parent: int
    namespace: str
    root: Root | None
    cgroup: str
    cwd: str
    argv: Sequence[str]
    env: Mapping[str, str]
    beside: Sequence[str] = ()
    ceilings: Sequence[Sequence[int]] = ()

    def dump(self) -> bytes:
        root = None if self.root is None else self.root._asdict()
        return json.dumps(self._replace(root=root)._asdict()).encode()  # type: ignore[arg-type]

    @classmethod
    def load(cls, data: bytes) -> "Order":
        values: dict[str, Any] = json.loads(data)
        root = values["root"]
        if root is not None:
            root["overlays"] = [Overlay(*item) for item in root["overlays"]]
            values["root"] = Root(**root)
        return cls(**values)


def enter() -> None:
    """Carry out the order at descriptor 3. Returns only by raising or by becoming the child."""
    os.set_inheritable(ORDER, False)
    os.set_inheritable(TROUBLE, False)
    try:
        with open(ORDER, "rb") as pipe:
            first = pipe.readline()
            ground = json.loads(first).get("ground")
            there = None if ground is None else _lay(Ground(**ground))
            order = Order.load(first if there is None else pipe.readline())
        lost = move(order, there)
        if lost:
            os.write(TROUBLE, f"passed over: {', '.join(lost)}\n".encode())
        os.execve(order.argv[0], list(order.argv), dict(order.env))
    except Exception as error:
        os.write(TROUBLE, f"! {error}\n".encode(errors="replace"))
        os._exit(125)


def hear_signals() -> None:
    """Be deaf to none, however the server was started: nohup, for one, has SIGHUP ignored."""
    for number in RESET:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def move(
    order: Order, there: Sequence[str] | None = None, *, at_once: bool = False
) -> Sequence[str]:
    """Enter the place; return what it lacks. ``at_once`` where no other program is started then.

    ``there`` is what the ground of it lacks, where that was laid already.
    """
    os.setsid()
    _write("/proc/self/oom_score_adj", _OOM_SCORE)
    for group in filter(None, (order.cgroup, *order.beside)):
        _write(group + "/cgroup.procs", "0")
    lost: Sequence[str] = ()
    if order.root is not None:
        lost = change_root(order.namespace, order.root, there, at_once=at_once)
    os.chdir(order.cwd)
    for kind, most in order.ceilings:
        _lower(kind, most)
    # Not earlier: a change of credentials forgets it.
    kernel.die_with_parent(signal.SIGKILL)
    if os.getppid() != order.parent:
        os._exit(128 + signal.SIGKILL)  # the agent died in between
    return lost


def change_root(
    namespace: str, root: Root, there: Sequence[str] | None = None, *, at_once: bool = False
) -> Sequence[str]:
    if there is None:
        there = _lay(Ground(namespace, root.folder, root.private))
    user = namespace == "user"
    furnish(root, user=user)
    kernel.pivot_root(root.folder)
    lost = there if landlock.draw_line() else [*there, "landlock"]
    if user and os.geteuid() != 0:
        # The cache is read-only for everybody; in the overlay its files are the script's own.
        kernel.keep_capabilities(frozenset({kernel.CAP_DAC_OVERRIDE, kernel.CAP_FOWNER}))
    else:
        kernel.limit_capabilities(kernel.CONTAINER_CAPABILITIES)
        if at_once:
            kernel.give_up_capabilities(kernel.CONTAINER_CAPABILITIES)
    return lost


def _lay(ground: Ground) -> Sequence[str]:
    """Begin the place, in namespaces of our own."""
    if ground.namespace == "user":
        uid, gid = os.geteuid(), os.getegid()
        kernel.unshare(kernel.CLONE_NEWUSER | kernel.CLONE_NEWNS)
        _write("/proc/self/setgroups", "deny")
        for name, number in (("uid_map", uid), ("gid_map", gid)):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                file.write(f"{number} {number} 1")
    else:
        kernel.unshare(kernel.CLONE_NEWNS)
    return lay_ground(ground.folder, ground.private)


def _lower(kind: int, most: int) -> None:
    """Set a limit for good, never above what it may be."""
    _, hard = resource.getrlimit(kind)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(kind, (most, most))


def _write(path: str, text: str) -> bool:
    """Write what helps where it can be done, and is no fault where it cannot."""
    try:
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
    except OSError:
        return False
    return True


if __name__ == "__main__":
    from danlu.agent.probe import main

    sys.exit(main(sys.argv[1:]))
