"""What earlier attempts left in an output, given back to the next one.

An archive is not: its output is made anew by every attempt.
"""

import json
import logging
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from danlu.agent.ending import Ending
from danlu.agent.pump import JobLog
from danlu.agent.report import Reporter, show_size
from danlu.agent.workspace import Workspace
from danlu.errors import NotFound
from danlu.job.plan import Push, Task
from danlu.job.wire import from_wire, to_wire

if TYPE_CHECKING:
    from danlu.storage.locate import Stores
    from danlu.storage.manifest import Manifest

log = logging.getLogger(__name__)

_TIMES = 5
_GIVEN = "given.json"


def begins_with_earlier(task: Task, attempt: int) -> bool:
    """Tell whether an attempt of a task is given outputs that were there before it."""
    return any(attempt > 1 or item.restore for item in task.command.push)


class Restorer:
    def __init__(
        self, stores: "Stores", workspace: Workspace, report: Reporter, job_log: JobLog
    ) -> None:
        self._stores = stores
        self._workspace = workspace
        self._report = report
        self._log = job_log

    def restore(self, ending: Ending) -> "dict[str, Manifest]":
        """Fill outputs that are mirrored: all of them for a retry, those asked for in any case.

        Returns what is known to be at their URIs already.
        """
        task = self._workspace.task
        for number in range(1, task.attempt):
            self._salvage(number, ending)
        again = task.attempt > 1
        wanted = [item for item in self._mirrored() if again or item.restore]
        known = {item.what: self._pull(item, ending) for item in wanted}
        self._remember(known)
        return known

    def _salvage(self, attempt: int, ending: Ending) -> None:
        """Save what a lost agent could not push; once, or it would replace what came later.

        What it had been given itself is left out: a peer may have written newer since.
        """
        from danlu.storage.trees import push

        workspace = self._workspace
        mark = self._own_folder(attempt) / "salvaged"
        if mark.exists() or not mark.parent.is_dir():
            return
        given = self._given(attempt)
        if given is None:
            log.info("nothing to salvage: its script has not run attempt=%s", attempt)
            return
        for item in self._mirrored():
            folder = workspace.earlier(item.path, attempt)
            if folder.is_dir():
                log.info("salvage attempt=%s what=%s folder=%s", attempt, item.what, folder)
                progress = self._report.transfer(item.what, ending.check)
                with ending.interruptible():
                    push(folder, self._stores.at(item.uri), given.get(item.what), progress)
        mark.touch()

    def _own_folder(self, attempt: int) -> Path:
        task = self._workspace.task
        return self._workspace.work / task.job_id / str(attempt) / task.name

    def _remember(self, known: "Mapping[str, Manifest]") -> None:
        """Keep what this attempt begins with, for the next one that must salvage it."""
        folder = self._own_folder(self._workspace.task.attempt)
        fresh = folder / f".{_GIVEN}"
        fresh.write_text(json.dumps(to_wire(known)), encoding="utf-8")
        os.replace(fresh, folder / _GIVEN)

    def _given(self, attempt: int) -> "dict[str, Manifest] | None":
        """Return what an attempt began with; None where its agent was killed over giving it that.

        Then half of it may lie there, and nothing of the script's own.
        """
        from danlu.storage.manifest import Manifest

        if not begins_with_earlier(self._workspace.task, attempt):
            return {}
        try:
            data = json.loads((self._own_folder(attempt) / _GIVEN).read_bytes())
            return {what: from_wire(Manifest, each) for what, each in data.items()}
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, AttributeError):
            return {}  # of a machine that has crashed: all that lies there may be its own

    def _mirrored(self) -> list[Push]:
        return [item for item in self._workspace.task.command.push if not item.pack]

    @staticmethod
    def _settled(pull: "Callable[[], Manifest]") -> "Manifest":
        """A peer may still save what its agent before it could not push: look again then."""
        from danlu.storage.api import Changed

        for _ in range(_TIMES):
            try:
                return pull()
            except Changed as error:
                log.info("restore again error=%s", error)
        return pull()

    def _pull(self, item: Push, ending: Ending) -> "Manifest":
        from danlu.storage.manifest import Manifest
        from danlu.storage.trees import pull

        folder = self._workspace.below_root(item.path)
        location = self._stores.at(item.uri)
        progress = self._report.transfer(item.what, ending.check)
        try:
            with ending.interruptible():
                manifest = self._settled(lambda: pull(location, folder, progress))
        except NotFound:
            manifest = Manifest()
        count = len(manifest.files)
        files = "1 file" if count == 1 else f"{count} files"
        attempt = self._workspace.task.attempt
        whose = " of earlier attempts" if attempt > 1 else ""
        self._log.say(
            f"attempt {attempt}: found {files} ({show_size(manifest.size)}){whose} in {item.what}"
        )
        return manifest
