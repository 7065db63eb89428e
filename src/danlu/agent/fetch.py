"""Brings code and data to this machine and lays them where the script will look."""

import errno
import logging
import os
import stat
import time
from pathlib import Path
from typing import TYPE_CHECKING

from danlu.agent.ending import Ending
from danlu.agent.pump import JobLog
from danlu.agent.report import Reporter, show_size
from danlu.agent.root import Overlay
from danlu.agent.workspace import Workspace
from danlu.job.plan import Fetch
from danlu.settings import Settings

if TYPE_CHECKING:
    from danlu.storage.cache import CachedTree

log = logging.getLogger(__name__)

_FULL = (errno.ENOSPC, errno.EDQUOT)


class Fetcher:
    def __init__(
        self, settings: Settings, workspace: Workspace, report: Reporter, job_log: JobLog
    ) -> None:
        self._settings = settings
        self._workspace = workspace
        self._report = report
        self._log = job_log

    def bring(self, ending: Ending) -> None:
        """Fetch everything the command asks for.

        Raises:
            UserError: it is not there, or cannot be used as it is.
            StorageError: it could not be read.
        """
        for number, item in enumerate(self._workspace.task.command.fetch):
            self._report.begin(f"fetch {item.what}")
            began = time.monotonic()
            tree = self._cached(item, ending)
            self._say(item, tree, time.monotonic() - began)
            self._lay_out(number, item, tree)

    def _cached(self, item: Fetch, ending: Ending) -> "CachedTree":
        # Imported on use: an agent whose task is taken must leave at once.
        from danlu.storage.archive import Limits
        from danlu.storage.cache import ContentCache
        from danlu.storage.locate import Stores

        location = Stores.of(self._settings).at(item.uri)
        cache = ContentCache(self._settings.cache, self._settings.cache_limit)
        owner = self._workspace.task.job_id
        limits = Limits(self._settings.code_limit, self._settings.code_files)
        progress = self._report.transfer(item.what, ending.check)
        with ending.interruptible():  # another agent may be fetching the same: a wait for a lock
            if item.archive:
                return cache.archive(location, owner, limits, progress)
            return cache.tree(location, owner, progress)

    def _say(self, item: Fetch, tree: "CachedTree", took: float) -> None:
        size = show_size(tree.size)
        if tree.hit:
            self._report.cached(item.what, tree.size)
            self._log.say(f"{item.what}: {size}, cached")
        else:
            rate = show_size(tree.size / max(took, 1e-3))
            self._log.say(f"{item.what}: {size} in {took:.1f} s ({rate}/s)")

    def _lay_out(self, number: int, item: Fetch, tree: "CachedTree") -> None:
        workspace = self._workspace
        isolation = workspace.task.place.isolation
        mount_point = workspace.below_root(item.to)
        if isolation.private_paths and isolation.overlay:
            layer = workspace.folder / "layers" / str(number)
            for folder in (layer / "upper", layer / "work", mount_point):
                folder.mkdir(parents=True, exist_ok=True)
            workspace.overlays.append(
                Overlay(str(tree.path), str(layer / "upper"), str(layer / "work"), item.to)
            )
        else:
            copy_tree(tree.path, mount_point)


def copy_tree(source: Path, target: Path) -> None:
    """Copy a read-only tree so that its owner may write the copy; links are not in such trees."""
    target.mkdir(parents=True, exist_ok=True)
    with os.scandir(source) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                copy_tree(Path(entry.path), target / entry.name)
            else:
                _copy_file(entry.path, target / entry.name)


def _copy_file(source: str, target: Path) -> None:
    import shutil

    mode = stat.S_IMODE(os.stat(source).st_mode) | stat.S_IWUSR
    with open(source, "rb") as reader:
        # A file system that shares blocks copies nothing at all.
        handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        with open(handle, "wb") as writer:
            left = os.fstat(reader.fileno()).st_size
            try:
                while left:
                    moved = os.copy_file_range(reader.fileno(), handle, left)
                    if moved == 0:
                        break
                    left -= moved
            except OSError as error:
                if error.errno in _FULL:
                    raise OSError(error.errno, error.strerror, str(target)) from None
                reader.seek(0)
                writer.seek(0)
                shutil.copyfileobj(reader, writer, 1 << 20)
    shutil.copystat(source, target)
    os.chmod(target, mode)
