"""``python -m danlu.agent.remote --home HOME --holder PID``: an agent with its files in a store.

What it needs (keys, secrets, which task) comes as one line on its standard input. It has no
server beside it to tidy up after it: it removes its own scratch, and what others left long ago.
"""

import logging
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from danlu.agent import kernel
from danlu.agent.__main__ import see_through
from danlu.agent.fences import is_fenced
from danlu.job.state import Reason
from danlu.settings import Settings
from danlu.storage.cache import ContentCache
from danlu.storage.cluster import jobs_place
from danlu.storage.removal import remove
from danlu.taskdir import handover
from danlu.taskdir.files import TaskDir
from danlu.taskdir.handover import Handover
from danlu.taskdir.process import marked
from danlu.taskdir.store import StoreCarrier

log = logging.getLogger("danlu.agent")

# Ended so, a task may hold outputs that reached no store: the next attempt may find them here.
_UNSAFE = frozenset(
    {
        Reason.STORE_UNAVAILABLE,
        Reason.OUTPUTS_REFUSED,
        Reason.DISK_FULL,
        Reason.PLATFORM_FAILED,
    }
)
_LEFT_OVER = 7 * 24 * 3600.0  # seconds until nobody comes back for the scratch of a lost task


class HandedTaskDir(TaskDir):
    """A task directory whose secrets were handed over beside the store."""

    handed: Mapping[str, str] = {}

    def take_secrets(self) -> Mapping[str, str]:
        return self.handed

    def forget_secrets(self) -> None:
        self.handed = {}


def main(argv: Sequence[str]) -> int:
    if len(argv) != 4 or (argv[0], argv[2]) != ("--home", "--holder"):
        print("usage: python -m danlu.agent.remote --home HOME --holder PID", file=sys.stderr)
        return 2
    # Whoever holds us is gone when its node is: no agent is left without one.
    kernel.die_with_parent(signal.SIGKILL)
    if os.getppid() != int(argv[3]):
        return 1  # it died before we could ask for that
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    handed = handover.load(sys.stdin.readline())
    settings = handover.settings_of(handed, Path(argv[1]))
    files = open_files(handed, settings)
    try:
        return see_through(files, settings)
    finally:
        tidy(files, settings, handed.job_id)


def open_files(handed: Handover, settings: Settings) -> TaskDir:
    place = jobs_place(settings)
    carrier = StoreCarrier(place.storage, place.prefix + handed.job_id)
    files = HandedTaskDir(carrier, handed.attempt, handed.task)
    files.handed = handed.secrets
    return files


def tidy(files: TaskDir, settings: Settings, job_id: str) -> None:
    """Remove the scratch of a task whose outputs are safe, and let go of what it used."""
    try:
        own = settings.work / job_id / str(files.attempt) / files.task
        outcome = files.outcome()
        if outcome is not None and outcome.reason not in _UNSAFE:
            remove(own)
        _remove_empty(own)
        _remove_left_over(settings.work)
        # The next attempt may be here already, and not have come to its scripts.
        if not is_fenced(files) and not any(marked(f"{job_id}/")):
            cache = ContentCache(settings.cache, settings.cache_limit)
            cache.unpin(job_id)
            cache.evict()
    except Exception:
        log.exception("not tidied job=%s", job_id)


def _remove_empty(task: Path) -> None:
    """Remove the folders of a task, its attempt and its job, where nothing is in them any more.

    Never one inside another task's: the empty folders there are what its root is mounted on, and
    the kernel takes away what is mounted on a folder that is removed from outside.
    """
    for folder in (task, task.parent, task.parent.parent):
        try:
            os.rmdir(folder)
        except FileNotFoundError:
            continue
        except OSError:
            return  # another task is there, or something to come back for


def _remove_left_over(work: Path) -> None:
    for job in work.glob("[!.]*"):
        try:
            old = time.time() - job.stat().st_mtime > _LEFT_OVER
        except OSError:
            continue  # another agent was faster
        if old and not any(marked(f"{job.name}/")):
            remove(job)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
