"""Ending the processes of a task: all of them, and never a stranger's.

A pid is checked and signalled through one pidfd: between the look and the signal the number
cannot pass to another process.
"""

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from danlu.job.status import Agent
from danlu.storage.walking import walk, walk_up
from danlu.taskdir.hierarchy import own_groups
from danlu.taskdir.process import alive, has_mark, marked


def signal_agent(agent: Agent, number: signal.Signals) -> bool:
    """Signal this very agent; False when it is gone."""
    return _signal(agent.pid, number, lambda: alive(agent))


def end_rest(agent: Agent | None, mark: str) -> bool:
    """Kill every process of a task but its agent; True when there was none left to kill."""
    none_left = _end_group(agent.cgroup) if agent is not None and agent.cgroup else True
    for pid in marked(mark):
        none_left = False
        _signal(pid, signal.SIGKILL, partial(has_mark, pid, mark))
    return none_left


def _end_group(folder: str) -> bool:
    """Kill a control group and all below it, then remove it; True when nobody was in it."""
    group = Path(folder)
    if not group.name.startswith("danlu-"):
        return True  # agents name theirs so; this one was never theirs
    try:
        if "populated 1" not in (group / "cgroup.events").read_text():
            _remove_groups(group)
            return True
    except OSError:
        return True  # gone, or never there
    try:
        (group / "cgroup.kill").write_text("1")
    except OSError:  # a kernel before 5.14
        for pid in _members(group):
            _signal(pid, signal.SIGKILL, partial(_is_member, pid, group))
    return False


def _remove_groups(group: Path) -> None:
    """Remove a group, all below it, and the one that counted its processes on cgroup v1."""
    beside = [parent / group.name for parent in own_groups("pids") if parent is not None]
    for made in (group, *beside):
        for folder, _, _ in walk_up(made):
            with contextlib.suppress(OSError):
                os.rmdir(folder)


def _members(group: Path) -> Iterator[int]:
    for folder, _, _ in walk(group):
        with contextlib.suppress(OSError):
            listed = Path(folder, "cgroup.procs").read_text()
            yield from (int(pid) for pid in listed.split())


def _is_member(pid: int, group: Path) -> bool:
    return pid in set(_members(group))


def _signal(pid: int, number: signal.Signals, is_meant: Callable[[], bool]) -> bool:
    with _held(pid) as handle:
        if not is_meant():
            return False
        try:
            if handle is None:
                os.kill(pid, number)
            else:
                signal.pidfd_send_signal(handle, number)
        except (ProcessLookupError, PermissionError):
            return False
    return True


@contextlib.contextmanager
def _held(pid: int) -> Iterator[int | None]:
    try:
        handle = os.pidfd_open(pid)
    except OSError:  # gone, or a kernel before 5.3
        yield None
        return
    try:
        yield handle
    finally:
        os.close(handle)
