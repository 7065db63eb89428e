"""The task's place, entered by one process after the other: commands, installer, script.

Each has a mount namespace of its own with the same directories in it: what one wrote, the next
one finds.
"""

import os
import sys
from collections.abc import Mapping, Sequence

from danlu.agent import stores
from danlu.agent.bounds import Bounds
from danlu.agent.child import Child, needed_paths
from danlu.agent.ending import Ending, Wish
from danlu.agent.environment import PACKAGES, STARTUP, child_environment
from danlu.agent.processes import Processes
from danlu.agent.pump import JobLog
from danlu.agent.reaper import Reaper
from danlu.agent.root import Root
from danlu.agent.sandbox import Ground, Order
from danlu.agent.spare import Outfit
from danlu.agent.warm import find, is_kept_for
from danlu.agent.workspace import HOSTS, Workspace, within
from danlu.job.translation import Note
from danlu.settings import Settings

_HOSTS = os.path.realpath(HOSTS)


class Stage:
    """``installed`` is the folder of the task's packages, once there is one; ``relaxed`` tells
    which of them are not as the code asks for."""

    def __init__(
        self,
        workspace: Workspace,
        settings: Settings,
        secrets: Mapping[str, str],
        processes: Processes,
        job_log: JobLog,
        ending: Ending,
        outfit: Outfit,
        bounds: Bounds,
    ) -> None:
        self.workspace = workspace
        self.log = job_log
        self.ending = ending
        self.installed = ""
        self.relaxed: list[Note] = []
        self._settings = settings
        self._secrets = secrets
        self._processes = processes
        self._groups = list(map(str, outfit.group.folders)) if outfit.group else [""]
        self._ceilings = bounds.ceilings()
        self._reaper = Reaper(ending.wake)
        self._doors = outfit.doors

    def lay_ground(self) -> None:
        """Have the task's place begun while we fetch; a process with TensorFlow builds its own."""
        task = self.workspace.task
        if not task.place.isolation.private_paths or is_kept_for(self._settings.home, task):
            return
        isolation, newroot = task.place.isolation, str(self.workspace.newroot)
        self._doors.lay(Ground(isolation.namespace, newroot, self._private()))

    def environment(self) -> dict[str, str]:
        """Return what the script gets, and whatever the user has run before and after it."""
        box = self.workspace.box.folder
        # Before the first Python starts: one that finds no folder never looks again.
        (box / PACKAGES).mkdir(exist_ok=True)
        task, settings = self.workspace.task, self._settings
        stores.write_files(settings, task, box)
        return child_environment(
            task, str(box), self._secrets, os.environ, settings, self.installed
        )

    def enter(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        *,
        heard: Wish | None = None,
        left: float = 0.0,
        warm: bool = False,
    ) -> Child:
        """Start a process there; ``heard`` and ``left`` as for a Child.

        The script's may be one that was started already (``warm``).

        Raises:
            Interrupted, PlatformError
        """
        task = self.workspace.task
        waiting = find(self._settings.home, task, env, self.installed) if warm else None
        around = (self._processes, self.log, self.ending, self._reaper, self._doors)
        child = Child(*around, heard=heard, left=left)
        child.start(
            Order(
                parent=os.getpid(),
                namespace=task.place.isolation.namespace,
                root=self._root() if task.place.isolation.private_paths else None,
                cgroup=self._groups[0],
                cwd=task.command.cwd or code_folder(self.workspace) or "/",
                argv=argv,
                env=env,
                beside=self._groups[1:],
                ceilings=self._ceilings,
            ),
            waiting,
        )
        return child

    def _private(self) -> list[tuple[str, str]]:
        workspace = self.workspace
        return [(str(workspace.below_root(path)), path) for path in workspace.private()]

    def _root(self) -> Root:
        workspace, settings = self.workspace, self._settings
        layers = [layer.seen for layer in workspace.overlays]
        return Root(
            folder=str(workspace.newroot),
            private=self._private(),
            overlays=workspace.overlays,
            outputs=[
                (str(workspace.below_root(item.path)), item.path)
                for item in workspace.task.command.push
                if any(within(item.path, layer) for layer in layers)
            ],
            hidden=_real(settings.home, settings.socket.parent, settings.file.parent),
            kept=_real(*needed_paths(), STARTUP, *filter(None, [self.installed])),
            box=str(workspace.box.folder),
            guarded=_real(*_own_environment()),
            shared=[stores.make_embedded(settings)],
            files=[(str(workspace.hosts), _HOSTS)] if workspace.hosts.exists() else [],
        )


def code_folder(workspace: Workspace) -> str:
    fetched = workspace.task.command.fetch
    return next((item.to for item in fetched if item.what == "code"), "")


def _own_environment() -> Sequence[str]:
    """Return the folder of the runtime where it has one of its own: no job may change it."""
    return [sys.prefix] if sys.prefix != sys.base_prefix else []


def _real(*paths: str | os.PathLike[str]) -> list[str]:
    """A link would lead a mount out of the root that is being built."""
    return list(dict.fromkeys(map(os.path.realpath, paths)))
