"""An agent with its task directory in an object store.

Usage: ``python -m danlu.agent.remote --home HOME --holder PID``. The agent reads its keys, its
secrets and its task from one line on standard input. No server on its machine cleans up after it.
It removes its own scratch files, and those that lost tasks left long ago.
"""

import logging
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from danlu.agent.__main__ import run_agent
from danlu.agent.control import is_fenced
from danlu.agent.kept_files import UNSTORED
from danlu.job.state import Reason
from danlu.sandbox import kernel
from danlu.settings import Settings
from danlu.storage.cache import ContentCache
from danlu.storage.folders import remove_tree
from danlu.storage.locate import jobs_place
from danlu.taskdir import handover
from danlu.taskdir.files import TaskDir
from danlu.taskdir.handover import Handover
from danlu.taskdir.job_files import StoredJobFiles
from danlu.taskdir.processes import task_pids

log = logging.getLogger("danlu.agent")

# After these reasons a task may hold outputs that are in no store. The next attempt may find them
# on this machine.
_UNSAFE = frozenset(
    {
        Reason.STORE_UNAVAILABLE,
        Reason.OUTPUTS_REFUSED,
        Reason.DISK_FULL,
        Reason.PLATFORM_FAILED,
    }
)
_LEFT_OVER = 7 * 24 * 3600.0  # seconds after which no attempt needs the scratch of a lost task


class HandedTaskDir(TaskDir):
    """A task directory with secrets that were passed to the agent outside the store."""

    handed: Mapping[str, str] = {}

    def take_secrets(self) -> Mapping[str, str]:
        return self.handed

    def forget_secrets(self) -> None:
        self.handed = {}


def main(argv: Sequence[str]) -> int:
    if len(argv) != 4 or (argv[0], argv[2]) != ("--home", "--holder"):
        print("usage: python -m danlu.agent.remote --home HOME --holder PID", file=sys.stderr)
        return 2
    # The holder ends with its node. An agent must not outlive its holder.
    kernel.die_with_parent(signal.SIGKILL)
    if os.getppid() != int(argv[3]):
        return 1  # the holder ended before this call
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    handed = handover.load(sys.stdin.readline())
    settings = handover.settings_of(handed, Path(argv[1]))
    files = open_files(handed, settings)
    try:
        return run_agent(files, settings)
    finally:
        tidy(files, settings, handed.job_id)


def open_files(handed: Handover, settings: Settings) -> TaskDir:
    place = jobs_place(settings)
    store = StoredJobFiles(place.storage, place.prefix + handed.job_id)
    files = HandedTaskDir(store, handed.attempt, handed.task)
    files.handed = handed.secrets
    return files


def tidy(files: TaskDir, settings: Settings, job_id: str) -> None:
    """Remove the scratch of a task if its outputs are stored, and unpin its cache entries."""
    try:
        own = settings.work / job_id / str(files.attempt) / files.task
        outcome = files.outcome()
        if outcome is not None and not outcome.unstored and outcome.reason not in _UNSAFE:
            remove_tree(own)
        _remove_empty(own)
        _remove_left_over(settings.work)
        # The next attempt may already be here without having started its script.
        if not is_fenced(files) and not any(task_pids(f"{job_id}/")):
            cache = ContentCache(settings.cache, settings.cache_limit)
            cache.unpin(job_id)
            cache.evict()
    except Exception:
        log.exception("not tidied job=%s", job_id)


def _remove_empty(task: Path) -> None:
    """Remove the folders of a task, its attempt and its job if they are empty.

    Folders inside another task's folder are never removed. Empty folders there are mount points of
    its root, and the kernel unmounts what is mounted on a folder that is removed from outside.
    """
    for folder in (task, task.parent, task.parent.parent):
        try:
            os.rmdir(folder)
        except FileNotFoundError:
            continue
        except OSError:
            return  # it holds another task, or files that the next attempt needs


def _remove_left_over(work: Path) -> None:
    for job in work.glob("[!.]*"):
        try:
            old = time.time() - job.stat().st_mtime > _LEFT_OVER
        except OSError:
            continue  # another agent removed it
        if old and not any(job.glob(f"*/*/{UNSTORED}")) and not any(task_pids(f"{job.name}/")):
            remove_tree(job)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
