"""Installs the packages that a job requires, once for all jobs with the same requirements.

An environment is a read-only folder of the content cache, pinned while its job lives. It is used
beside the runtime's packages and never replaces one of them.
"""

import hashlib
import json
import logging
import os
import shutil
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import danlu
from danlu import messages
from danlu.agent.context import Workspace, remove_scratch
from danlu.agent.packages.uv import installer_environment
from danlu.agent.reports.progress import relaxed
from danlu.agent.script.task_sandbox import TaskSandbox
from danlu.agent.script.temporary_dirs import within
from danlu.errors import PlatformError, Refused, Unavailable
from danlu.messages import get_message
from danlu.storage.api import FileRecord, Manifest
from danlu.storage.cache import ContentCache
from danlu.taskdir.processes import MARK

log = logging.getLogger(__name__)

_SOURCE = Path(danlu.__file__).parents[1]
# Started without the script's PYTHON* variables, but with the runtime's packages.
_START = (
    "import sys; from pathlib import Path; sys.path.insert(0, sys.argv[1]); "
    "from danlu.agent.packages.installer import main; main(sys.argv[2], Path(sys.argv[3]))"
)
_MAX_LISTED = 10  # changes listed in the log; packages.json lists all
_LARGEST = 4 << 20


def install(stage: TaskSandbox) -> None:
    """Install the packages that the task requires, if any, and set ``stage.installed``.

    Raises:
        Interrupted
        Refused: something cannot be installed, or not exactly as required in strict mode.
        Unavailable: the network did not answer.
    """
    asked = stage.workspace.task.command.install
    if not any(_is_there(stage.workspace, item.path) for item in asked):
        return
    stage.context.report.begin("install")
    installer = _Installer(stage)
    try:
        installer.run()
    finally:
        remove_scratch(installer.folder)


class _Installer:
    def __init__(self, stage: TaskSandbox) -> None:
        self.folder = stage.workspace.box.folder / "install"
        self._stage = stage
        self._settings = stage.context.settings

    def run(self) -> None:
        began = time.monotonic()
        digest = self._ask("look").get("digest")
        if not digest:
            return
        tree = ContentCache(self._settings.cache, self._settings.cache_limit).made(
            str(digest),
            self._stage.workspace.task.job_id,
            "packages",
            self._make,
            self._stage.stop_signal.check,
        )
        self._stage.installed = str(tree.path)
        self._log_packages(tree.path, "cached" if tree.hit else f"{time.monotonic() - began:.1f} s")

    def _make(self, to: Path) -> tuple[int, Manifest | None]:
        self._ask("make")
        _move(self.folder / "environment", to)
        manifest = Manifest(marks(to))
        return manifest.size, manifest

    def _ask(self, step: str) -> Mapping[str, Any]:
        """Run a step of the installer in the sandbox and return its answer."""
        task = self._stage.workspace.task
        remove_scratch(self.folder)
        self.folder.mkdir()
        order = {
            "install": [[item.path, item.package, item.optional] for item in task.command.install],
            "strict": self._settings.strict_packages,
        }
        (self.folder / "order.json").write_text(json.dumps(order), encoding="utf-8")
        env = installer_environment(os.environ, self._settings.home, self.folder / "cache")
        env[MARK] = self._stage.environment()[MARK]
        env[messages.VARIABLE] = messages.language()
        if self._stage.workspace.temporary:
            env.pop("TMPDIR", None)  # the sandbox may not show that folder of the machine
        words = [sys.executable, "-I", "-c", _START, str(_SOURCE), step, str(self.folder)]
        child = self._stage.start_process(words, env)
        status = child.wait(task.limits.run, task.limits.grace)
        self._stage.stop_signal.check()
        try:
            answer = json.loads(_read(self.folder / f"{step}.json"))
        except (OSError, ValueError):
            raise PlatformError.from_key("packages.installer_ended", status=status) from None
        return self._judged(answer)

    def _judged(self, answer: Mapping[str, Any]) -> Mapping[str, Any]:
        if answer.get("outage"):
            raise Unavailable.from_key("packages.outage", why=answer["outage"])
        if answer.get("faults"):
            raise Refused.from_key("packages.impossible", why="; ".join(answer["faults"]))
        if answer.get("refused"):
            raise Refused.from_key("packages.strict", names=", ".join(answer["refused"]))
        return answer

    def _log_packages(self, environment: Path, how: str) -> None:
        try:
            report = json.loads(_read(environment / "packages.json"))
            installed, changed, notes = (report[k] for k in ("installed", "changed", "notes"))
            names = ", ".join(f"{name} {version}" for name, version in installed.items())
            missing = any(item["why"] == "left_out" for item in changed)
            lines = [*(str(item["said"]) for item in changed), *map(str, notes)]
            self._stage.relaxed = relaxed(changed)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            log.exception("no report of the packages")
            return
        write_line = self._stage.log.write_line
        names = names or get_message("packages.none" if missing else "packages.all_there")
        write_line(get_message("packages.installed", how=how, names=names)[:1000])
        for line in lines[:_MAX_LISTED]:
            write_line(f"  {line}")
        if len(lines) > _MAX_LISTED:
            path = f"{environment}/packages.json"
            write_line(
                "  " + get_message("packages.more", count=len(lines) - _MAX_LISTED, path=path)
            )


def _is_there(workspace: Workspace, seen: str) -> bool:
    """Return True if a file or folder exists for the task.

    Most jobs require no packages. The agent detects that without starting a process in the sandbox.
    """
    layers = [layer for layer in workspace.overlays if within(seen, layer.seen)]
    below = [Path(layer.lower + seen[len(layer.seen) :]) for layer in layers]
    return any(path.exists() for path in (workspace.host(seen), *below))


def marks(folder: Path) -> dict[str, Any]:
    """Return size and SHA-256 of every file, for a check after a crash of the machine."""
    found = {}
    for path, _, files in os.walk(folder):
        for name in files:
            file = Path(path, name)
            data = file.read_bytes()
            digest = hashlib.sha256(data).hexdigest()
            found[str(file.relative_to(folder))] = FileRecord(len(data), -1, digest)
    return found


def _move(source: Path, to: Path) -> None:
    try:
        os.rename(source, to)
    except OSError:  # another file system
        shutil.copytree(source, to, dirs_exist_ok=True)


def _read(path: Path) -> bytes:
    """Read a file of the installer. It may be anything, because the installer runs user code."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(handle, "rb") as file:
        return file.read(_LARGEST)
