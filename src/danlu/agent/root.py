"""The root a script sees: this machine's own, with the task's directories at the fixed paths.

Built of bind mounts below a folder of the task, so that what a script writes beside its own
directories ("/data", say) stays on its disk and out of the machine's root.
"""

import contextlib
import os
import stat
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from danlu.agent import kernel, machine


class Overlay(NamedTuple):
    """A fetched tree, shared and never written, under the task's own changes."""

    lower: str
    upper: str
    work: str
    seen: str


class Root(NamedTuple):
    """Every path but the seen ones is this machine's."""

    folder: str
    private: Sequence[Sequence[str]]  # pairs: our directory, where it is seen
    overlays: Sequence[Overlay]
    outputs: Sequence[Sequence[str]]  # the same, laid over the overlays
    hidden: Sequence[str]
    kept: Sequence[str]  # shown again where something else covers them
    box: str
    guarded: Sequence[str] = ()  # shown as they are, and not to be written
    shared: Sequence[str] = ()  # shown again, and to be written
    files: Sequence[Sequence[str]] = ()  # pairs as above: shown in place of this machine's own


def lay_ground(folder: str, private: Sequence[Sequence[str]]) -> list[str]:
    """Mount what is known before anything is fetched: this machine's root, the task's directories.

    Returns what could not be shown, or not guarded. :func:`furnish` does the rest.
    """
    kernel.mount("", "/", flags=kernel.MS_REC | kernel.MS_PRIVATE)
    kernel.mount(folder, folder, flags=kernel.MS_BIND)
    # Else the bind of the directory we are in would hold a copy of all of this.
    kernel.mount("", folder, flags=kernel.MS_UNBINDABLE)
    lost = _show("/", folder, [seen for _, seen in private])
    for source, seen in sorted(private, key=lambda pair: len(pair[1])):
        _bind(source, folder + seen)
    return lost + machine.guard(folder)


def furnish(root: Root, *, user: bool) -> None:
    """Mount what was fetched, and hide what is not the task's."""
    for overlay in sorted(root.overlays, key=lambda item: len(item.seen)):
        _overlay(overlay, root.folder + overlay.seen, user=user)
    for source, seen in (*root.outputs, *root.files):
        _bind(source, root.folder + seen)
    covers = [path for path in map(root.folder.__add__, root.hidden) if os.path.isdir(path)]
    for cover in covers:
        kernel.mount(
            "tmpfs",
            cover,
            "tmpfs",
            kernel.MS_NOSUID | kernel.MS_NODEV,
            "size=1m,mode=0755",
        )
    for path in (root.box, *root.shared):
        _bind(path, root.folder + path)
    for path in root.kept:
        if not _same(path, root.folder + path):
            _bind(path, root.folder + path)
            kernel.make_read_only(root.folder + path)
    for path in root.guarded:
        _bind(path, root.folder + path)
        kernel.make_read_only(root.folder + path)
    for cover in covers:
        kernel.make_read_only(cover)


def _show(folder: str, root: str, private: Iterable[str]) -> list[str]:
    """Bind every entry of ``folder``; rebuild those where a private path has no mount point."""
    lost: list[str] = []
    missing = [path for path in private if not _is_mount_point(path)]
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if path in missing:
            continue
        try:
            if any(item.startswith(path + "/") for item in missing) and os.path.isdir(path):
                _make_like(path, root + path)
                lost += _show(path, root, missing)
            else:
                _show_entry(path, root + path)
        except OSError:
            lost.append(path)
    return lost


def _show_entry(path: str, target: str) -> None:
    mode = os.lstat(path).st_mode
    if stat.S_ISLNK(mode):
        # What an earlier process of the task made here stays.
        with contextlib.suppress(FileExistsError):
            os.symlink(os.readlink(path), target)
        return
    if stat.S_ISDIR(mode):
        _make_like(path, target)
    else:
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o600))
    kernel.bind(path, target)


def _make_like(path: str, target: str) -> None:
    os.makedirs(target, exist_ok=True)
    os.chmod(target, stat.S_IMODE(os.stat(path).st_mode))


def _is_mount_point(path: str) -> bool:
    """Tell whether a bind can go over ``path``; through a link it would go elsewhere."""
    return os.path.isdir(path) and os.path.realpath(path) == path


def _bind(source: str, target: str) -> None:
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    elif not os.path.exists(target):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o600))
    kernel.bind(source, target)


def _overlay(overlay: Overlay, target: str, *, user: bool) -> None:
    os.makedirs(target, exist_ok=True)
    # By descriptor: a ':' or a ',' in a path would end it.
    handles = [os.open(path, os.O_PATH | os.O_DIRECTORY) for path in overlay[:3]]
    lower, upper, work = (f"/proc/self/fd/{handle}" for handle in handles)
    options = f"lowerdir={lower},upperdir={upper},workdir={work}"
    try:
        try:
            # An ordinary user may not set trusted.* attributes; Linux 5.11 offers user.* instead.
            extra = ",userxattr" if user else ",redirect_dir=on"
            kernel.mount("overlay", target, "overlay", options=options + extra)
        except OSError:
            kernel.mount("overlay", target, "overlay", options=options)
    finally:
        for handle in handles:
            os.close(handle)


def _same(one: str, other: str) -> bool:
    try:
        return os.path.samestat(os.stat(one), os.stat(other))
    except OSError:
        return not os.path.exists(one)  # what is not there need not be shown
