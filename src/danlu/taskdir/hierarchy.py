"""Where the control groups of this machine lie: cgroup v2, and controllers still on v1."""

import contextlib
import os
from pathlib import Path


def own_groups(*controllers: str) -> list[Path | None]:
    """Return the folders of the groups this process is in: for each of ``controllers`` in the
    hierarchy of cgroup v1 that has it, for an empty name in that of cgroup v2."""
    mounts, groups = _read("/proc/self/mountinfo"), _read("/proc/self/cgroup")
    return [find_group(mounts, groups, controller) for controller in controllers]


def find_group(mounts: str, groups: str, controller: str = "") -> Path | None:
    """The same for one, from the text of ``/proc/self/mountinfo`` and ``/proc/self/cgroup``."""
    own = _own_path(groups, controller)
    if own is None:
        return None
    for line in mounts.splitlines():
        place, _, kind = line.partition(" - ")
        root, where = map(_unescaped, place.split(" ")[3:5])
        inside = root.rstrip("/") + "/"  # a container may be shown a part of the tree
        if _is_mounted(kind, controller) and f"{own}/".startswith(inside):
            return Path(where, own[len(inside) :].lstrip("/"))
    return None


def delegate_counting(parent: Path) -> None:
    """Let groups below have a limit of processes, where ``parent`` was given the means for that.

    Not at the root of a container: nobody could enter that from outside any more (``docker exec``).
    """
    if (parent / "cgroup.type").exists() and _own_path(_read("/proc/self/cgroup")) == "/":
        return
    control = parent / "cgroup.subtree_control"
    if "pids" in _read(parent / "cgroup.controllers").split() and "pids" not in _read(control):
        # Where that is not ours to decide, who asks for a limit is told that there is none.
        with contextlib.suppress(OSError):
            control.write_text("+pids", encoding="ascii")


def _own_path(groups: str, controller: str = "") -> str | None:
    for line in groups.splitlines():
        _, names, path = line.split(":", 2)
        if controller in names.split(",") and ".." not in path.split("/"):
            return path
    return None


def _is_mounted(kind: str, controller: str) -> bool:
    name, _, options = kind.split(" ", 2)
    if not controller:
        return name == "cgroup2"
    return name == "cgroup" and controller in options.split(",")


def _unescaped(path: str) -> str:
    return path.replace("\\040", " ")


def _read(path: str | os.PathLike[str]) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
