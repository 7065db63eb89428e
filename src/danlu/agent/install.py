"""Installs what a job asks for, once for all jobs that ask for the same.

An environment is a folder of the content cache, read-only, pinned while its job lives. It lies
beside the runtime's packages and never replaces one of them.
"""

import json
import logging
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import danlu
from danlu.agent.report import Reporter
from danlu.agent.stage import Stage
from danlu.agent.translation import relaxed
from danlu.agent.workspace import Workspace, remove, within
from danlu.errors import PlatformError, Refused, Unavailable
from danlu.settings import Settings
from danlu.taskdir.process import MARK

if TYPE_CHECKING:
    from danlu.storage.manifest import Manifest

log = logging.getLogger(__name__)

_SOURCE = Path(danlu.__file__).parents[1]
# Past the script's PYTHON* variables, with the runtime's packages.
_START = (
    "import sys; from pathlib import Path; sys.path.insert(0, sys.argv[1]); "
    "from danlu.agent.install_main import main; main(sys.argv[2], Path(sys.argv[3]))"
)
_TOLD = 10  # changes told in the log; all are in packages.json
_LARGEST = 4 << 20


def install(stage: Stage, settings: Settings, report: Reporter) -> None:
    """Let ``stage.installed`` be the environment the task asks for, if it asks for any.

    Raises:
        Interrupted
        Refused: something cannot be installed, or not as asked for where that is demanded.
        Unavailable: the network did not answer.
    """
    asked = stage.workspace.task.command.install
    if not any(_is_there(stage.workspace, item.path) for item in asked):
        return
    report.begin("install")
    installer = _Installer(stage, settings)
    try:
        installer.run()
    finally:
        remove(installer.folder)


class _Installer:
    def __init__(self, stage: Stage, settings: Settings) -> None:
        self.folder = stage.workspace.box.folder / "install"
        self._stage = stage
        self._settings = settings

    def run(self) -> None:
        from danlu.storage.cache import ContentCache

        began = time.monotonic()
        digest = self._ask("look").get("digest")
        if not digest:
            return
        tree = ContentCache(self._settings.cache, self._settings.cache_limit).made(
            str(digest),
            self._stage.workspace.task.job_id,
            "packages",
            self._make,
            self._stage.ending.check,
        )
        self._stage.installed = str(tree.path)
        self._say(tree.path, "cached" if tree.hit else f"{time.monotonic() - began:.1f} s")

    def _make(self, to: Path) -> "tuple[int, Manifest | None]":
        self._ask("make")
        from danlu.storage.manifest import Manifest

        _move(self.folder / "environment", to)
        manifest = Manifest(marks(to))
        return manifest.size, manifest

    def _ask(self, step: str) -> Mapping[str, Any]:
        """Run a step of the installer at the task's place and return its answer."""
        from danlu.agent.install_index import installer_environment

        task = self._stage.workspace.task
        remove(self.folder)
        self.folder.mkdir()
        order = {
            "install": [[item.path, item.package] for item in task.command.install],
            "strict": self._settings.strict_packages,
        }
        (self.folder / "order.json").write_text(json.dumps(order), encoding="utf-8")
        env = installer_environment(os.environ, self._settings.home, self.folder / "cache")
        env[MARK] = self._stage.environment()[MARK]
        words = [sys.executable, "-I", "-c", _START, str(_SOURCE), step, str(self.folder)]
        child = self._stage.enter(words, env)
        status = child.wait(task.limits.run, task.limits.grace)
        self._stage.ending.check()
        try:
            answer = json.loads(_read(self.folder / f"{step}.json"))
        except (OSError, ValueError):
            raise PlatformError(f"The installer ended with status {status}.") from None
        return self._judged(answer)

    def _judged(self, answer: Mapping[str, Any]) -> Mapping[str, Any]:
        if answer.get("outage"):
            raise Unavailable(f"Packages could not be fetched: {answer['outage']}")
        if answer.get("faults"):
            raise Refused("Packages cannot be installed: " + "; ".join(answer["faults"]))
        if answer.get("refused"):
            raise Refused(
                f"strict_packages is set, and not as asked for would be: "
                f"{', '.join(answer['refused'])}."
            )
        return answer

    def _say(self, environment: Path, how: str) -> None:
        try:
            report = json.loads(_read(environment / "packages.json"))
            installed, changed, notes = (report[k] for k in ("installed", "changed", "notes"))
            names = ", ".join(f"{name} {version}" for name, version in installed.items())
            lines = [*(str(item["said"]) for item in changed), *map(str, notes)]
            self._stage.relaxed = relaxed(changed)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            log.exception("no report of the packages")
            return
        say = self._stage.log.say
        say(f"packages ({how}): {names or 'all asked for are in the runtime'}"[:1000])
        for line in lines[:_TOLD]:
            say(f"  {line}")
        if len(lines) > _TOLD:
            say(f"  and {len(lines) - _TOLD} more, in {environment}/packages.json")


def _is_there(workspace: Workspace, seen: str) -> bool:
    """Most jobs ask for nothing: that is seen from here, without a process at their place."""
    layers = [layer for layer in workspace.overlays if within(seen, layer.seen)]
    below = [Path(layer.lower + seen[len(layer.seen) :]) for layer in layers]
    return any(path.exists() for path in (workspace.host(seen), *below))


def marks(folder: Path) -> dict[str, Any]:
    """Return every file with its size and SHA-256: after a crash of the machine they tell."""
    import hashlib

    from danlu.storage.manifest import Mark

    found = {}
    for path, _, files in os.walk(folder):
        for name in files:
            file = Path(path, name)
            data = file.read_bytes()
            digest = hashlib.sha256(data).hexdigest()
            found[str(file.relative_to(folder))] = Mark(len(data), -1, digest)
    return found


def _move(source: Path, to: Path) -> None:
    try:
        os.rename(source, to)
    except OSError:  # another file system
        import shutil

        shutil.copytree(source, to, dirs_exist_ok=True)


def _read(path: Path) -> bytes:
    """The installer runs code of the user's: what it leaves may be anything."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(handle, "rb") as file:
        return file.read(_LARGEST)
