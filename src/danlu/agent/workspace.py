"""Where the scratch of a task lies on this machine, and what the script calls it.

box/        what agent and child say to each other
root/       the task's own directories, by the fixed path they are seen at
layers/     what a script changed in fetched trees: upper and work directories of overlays
newroot/    where the script's root is put together
packed/     archives of outputs on their way to the store
hosts       what the script finds as /etc/hosts, where its service gave machines names
reserve     room to tell how it ended when the disk is full
"""

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from danlu.agent.root import Overlay
from danlu.job.plan import Task
from danlu.taskdir.box import Box

HOSTS = "/etc/hosts"
_RESERVE = 256 << 10
_HARDLY = 1 << 20  # more than the reserve, which may have been spent


@dataclass
class Workspace:
    """The folders of one task. ``overlays`` grows while trees are laid out."""

    work: Path
    task: Task
    overlays: list[Overlay] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        return self.work / self.task.job_id / str(self.task.attempt) / self.task.name

    @property
    def box(self) -> Box:
        return Box(self.folder / "box")

    @property
    def root(self) -> Path:
        return Path(self.task.place.root or self.folder / "root")

    @property
    def newroot(self) -> Path:
        return self.folder / "newroot"

    @property
    def hosts(self) -> Path:
        return self.folder / "hosts"

    @property
    def packed(self) -> Path:
        return self.folder / "packed"

    def make(self) -> None:
        for folder in (self.folder, self.box.folder, self.newroot, self.root):
            folder.mkdir(parents=True, exist_ok=True)
        for fixed in self.private():
            (self.root / fixed.lstrip("/")).mkdir(parents=True, exist_ok=True)
        with open(self.folder / "reserve", "wb") as file:
            file.write(b"\0" * _RESERVE)

    def spend_reserve(self) -> bool:
        """Give the last room back to a full disk; False when that was done before."""
        try:
            os.unlink(self.folder / "reserve")
        except FileNotFoundError:
            return False
        return True

    def full_disk(self) -> str:
        """Return our folder when there is hardly room left on its disk, else ""."""
        room = os.statvfs(self.folder)
        return str(self.folder) if room.f_bavail * room.f_frsize < _HARDLY else ""

    def clear_scratch(self) -> bool:
        """Remove what no retry needs; False when there was nothing. Only after the script's end."""
        scratch = [self.folder / "layers", self.newroot]
        outputs = [self._fixed(push.path) for push in self.task.command.push]
        for fixed in self.private():
            if not any(within(output, fixed) for output in outputs):
                scratch.append(self.root / fixed.lstrip("/"))
        found = [folder for folder in scratch if folder.is_dir() and any(folder.iterdir())]
        for folder in found:
            remove(folder)
        return bool(found)

    def below_root(self, seen: str) -> Path:
        """Return where a directory of the task's own lies."""
        return self.root / self._fixed(seen).lstrip("/")

    def earlier(self, seen: str, attempt: int) -> Path:
        """Return where the same directory lay in an earlier attempt."""
        place = self.task.place
        now, then = (f"/{self.task.job_id}/{n}/" for n in (self.task.attempt, attempt))
        if place.root:
            root = Path(place.root.replace(now, then, 1))
        else:
            root = self.work / self.task.job_id / str(attempt) / self.task.name / "root"
        return root / self._fixed(seen).lstrip("/")

    def host(self, seen: str) -> Path:
        """Return where to put something that the script shall find at ``seen``."""
        around = [layer for layer in self.overlays if within(seen, layer.seen)]
        if not around or any(within(seen, push.path) for push in self.task.command.push):
            return self.below_root(seen)
        innermost = max(around, key=lambda layer: len(layer.seen))
        return Path(innermost.upper + seen[len(innermost.seen) :])

    def private(self) -> Sequence[str]:
        """Return the fixed paths of the task's own: those of its service, and any other it uses."""
        command = self.task.command
        used = [
            *(item.to for item in command.fetch),
            *(item.path for item in command.push),
            *command.folders,
            *(os.path.dirname(path) for path in command.files),
        ]
        roots = list(command.private)
        for path in sorted(map(os.path.normpath, map(self._fixed, used)), key=len):
            if not any(within(path, root) for root in roots):
                roots.append(path)
        return roots

    def _fixed(self, seen: str) -> str:
        return seen.removeprefix(self.task.place.root)


def within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder + "/")


def remove(folder: Path) -> None:
    """Remove a folder whatever the modes inside: an overlay leaves directories nobody may read.

    What cannot be removed stays: whoever removes the job tries again.
    """
    from danlu.storage.removal import remove as remove_all

    with contextlib.suppress(OSError):
        remove_all(folder)
