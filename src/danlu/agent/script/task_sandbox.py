"""The sandbox of a task, in which commands, the installer and the script run in turn.

Each process has its own mount namespace with the same directories in it. A process finds what an
earlier one wrote.
"""

import os
import sys
from collections.abc import Mapping, Sequence

from danlu.agent.context import HOSTS, TaskContext, Workspace
from danlu.agent.control import StopRequest
from danlu.agent.packages.uv import installer_variables
from danlu.agent.script import environment as stores
from danlu.agent.script import temporary_dirs
from danlu.agent.script.child import ChildProcess, Reaper, needed_paths
from danlu.agent.script.environment import PACKAGES, STARTUP, child_environment, kept_variables
from danlu.agent.script.warm_client import find, may_start_warm
from danlu.job.status import Isolated, Note
from danlu.sandbox.entry import BaseMounts, LaunchOrder
from danlu.sandbox.root import Root

_HOSTS = os.path.realpath(HOSTS)


class TaskSandbox:
    """The sandbox of one task.

    ``installed`` is the folder of the task's packages, or empty. ``relaxed`` lists the packages
    that are not as the code requires.
    """

    def __init__(self, context: TaskContext) -> None:
        self.context = context
        self.workspace = context.workspace
        self.log = context.log
        self.stop_signal = context.stop
        self.installed = ""
        self.relaxed: list[Note] = []
        self._settings = context.settings
        group = context.resources.group
        self._groups = list(map(str, group.folders)) if group else [""]
        self._bounds = context.process_limits
        self._reaper = Reaper(context.stop.wake)
        self._launchers = context.resources.launchers
        self._shm = temporary_dirs.shared_memory_size(context.task, context.settings)

    def send_base_mounts(self) -> None:
        """Start to create the base mounts of the sandbox while inputs are fetched.

        Do nothing if the task has no private paths, or if it may use a warm process, which creates
        its own mounts.
        """
        task = self.workspace.task
        if not task.place.isolation.private_paths or may_start_warm(self._settings.home, task):
            return
        isolation, newroot = task.place.isolation, str(self.workspace.newroot)
        self._launchers.send_base_mounts(
            BaseMounts(isolation.namespace, newroot, self._private(), self._shm)
        )

    def environment(self) -> dict[str, str]:
        """Return the environment of the script and of the user's commands before and after it."""
        box = self.workspace.box.folder
        # Created before the first Python starts, which never checks again for a missing folder.
        (box / PACKAGES).mkdir(exist_ok=True)
        task, settings = self.workspace.task, self._settings
        stores.write_store_files(settings, task, box)
        return child_environment(
            task, str(box), self.context.secrets, os.environ, settings, self.installed
        )

    def start_process(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        *,
        request: StopRequest | None = None,
        left: float = 0.0,
        warm: bool = False,
    ) -> ChildProcess:
        """Start a process in the sandbox; ``request`` and ``left`` as for a Child.

        With ``warm`` the script may run in a warm process.

        Raises:
            Interrupted, PlatformError
        """
        task = self.workspace.task
        waiting = find(self._settings.home, task, env, self.installed) if warm else None
        around = (self.context.processes, self.log, self.stop_signal, self._reaper, self._launchers)
        child = ChildProcess(*around, request=request, left=left)
        child.start(
            LaunchOrder(
                parent=os.getpid(),
                namespace=task.place.isolation.namespace,
                root=self._root() if task.place.isolation.private_paths else None,
                cgroup=self._groups[0],
                cwd=task.command.cwd or code_folder(self.workspace) or "/",
                argv=argv,
                env=env,
                beside=self._groups[1:],
                rlimits=self._bounds.rlimits(),
            ),
            waiting,
        )
        return child

    def isolated(self, missing: Sequence[str]) -> Isolated:
        """Return how a started process is isolated; ``missing`` is what its sandbox lacks."""
        isolation, tmp = self.workspace.task.place.isolation, bool(self.workspace.temporary)
        disk = os.statvfs(self.workspace.folder)
        return Isolated(
            namespace=isolation.namespace,
            overlay=isolation.private_paths and isolation.overlay,
            tmp=tmp,
            tmp_free=disk.f_bavail * disk.f_frsize if tmp else 0,
            shm=self._shm,
            cgroup=bool(self._groups[0]),
            processes=self._bounds.processes if self._bounds.enforced else 0,
            missing=tuple(missing),
        )

    def _private(self) -> list[tuple[str, str]]:
        workspace, command = self.workspace, self.workspace.task.command
        own = [(str(workspace.below_root(path)), path) for path in workspace.private()]
        if not workspace.temporary:
            return own
        variables = {"PATH": os.environ.get("PATH", ""), **kept_variables(os.environ)}
        if command.install:
            variables |= installer_variables(os.environ)
        variables.pop("TMPDIR", None)  # the task's own is used instead
        words = (*command.args, *command.env.values())
        needed = [
            *(*needed_paths(), str(STARTUP)),
            *temporary_dirs.paths_in_variables(variables),
            *(item.ca_bundle for item in self._settings.stores.values() if item.ca_bundle),
            *temporary_dirs.paths_in_urls(workspace.temporary, words),
            # Without a fetch, the code is on this machine.
            *([] if command.fetch else [command.cwd, os.path.dirname(command.run)]),
        ]
        return own + temporary_dirs.visible_paths(
            workspace.temporary, filter(os.path.isabs, needed)
        )

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
                if any(temporary_dirs.within(item.path, layer) for layer in layers)
            ],
            hidden=_real(settings.home, settings.socket.parent, settings.file.parent),
            kept=_real(*needed_paths(), STARTUP, *filter(None, [self.installed])),
            box=str(workspace.box.folder),
            guarded=_real(*_own_environment()),
            shared=[stores.make_embedded(settings)],
            files=[(str(workspace.hosts), _HOSTS)] if workspace.hosts.exists() else [],
            shm=self._shm,
        )


def code_folder(workspace: Workspace) -> str:
    fetched = workspace.task.command.fetch
    return next((item.to for item in fetched if item.what == "code"), "")


def _own_environment() -> Sequence[str]:
    """Return the runtime's virtual environment, if it has one. No job may change it."""
    return [sys.prefix] if sys.prefix != sys.base_prefix else []


def _real(*paths: str | os.PathLike[str]) -> list[str]:
    """Return real paths. A link would lead a mount out of the root that is being built."""
    return list(dict.fromkeys(map(os.path.realpath, paths)))
