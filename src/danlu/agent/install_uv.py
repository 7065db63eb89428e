"""Calls of uv: one plans beside the runtime, one fills a folder, one builds a wheel."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from danlu.agent.install_index import NO_INDEX

_LONGEST = 300
_BUILD = 60.0  # seconds to build one old version; a package without C code needs a few
_ADDRESS = re.compile(r"\b(\w+://)[^/\s@]+@")  # user and password
# What uv says when the network is at fault, not the requirement.
_OUTAGE = re.compile(
    r"error sending request|Failed to fetch: |dns error|tcp connect error|Connection refused"
    r"|Connection reset|operation timed out|request timeout|Network is unreachable"
    r"|error decoding response body|HTTP status (server error|client error \((408|429))"
)
_REFUSED = re.compile(r"HTTP status client error \((401|403|404)")
_NO_WHEEL = re.compile(r"Wheels are required for `([^`]+)`")
_RAISED = re.compile(r"^[^\S\n]*(\w+(?:\.\w+)*(?:Error|Exception|Exit)\b.*)$", re.MULTILINE)


class UvFailed(Exception):
    """``text`` is all that uv said; ``outage``: another try may do."""

    def __init__(self, text: str) -> None:
        self.text = _ADDRESS.sub(r"\1***@", text)
        super().__init__(self.line)

    @property
    def outage(self) -> bool:
        return bool(_OUTAGE.search(self.text)) and not _REFUSED.search(self.text)

    @property
    def line(self) -> str:
        """The reason in one line: what a build raised, else the conclusion uv came to."""
        raised = _RAISED.findall(self.text)
        parts = [
            line.strip().removeprefix("cause: ").removeprefix("error: ")
            for line in self.text.splitlines()
            if line.strip().startswith(("cause: ", "error: "))
        ]
        because = [part for part in parts if part.startswith("Because ")]
        said = because[:1] or raised[-1:] or parts[-1:] or self.text.split("\n")[-1:]
        text = " ".join(said[0].split())
        return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"

    @property
    def without_wheel(self) -> list[str]:
        """Names that fail only because they would have to be built."""
        return _NO_WHEEL.findall(self.text)

    def names(self, name: str) -> bool:
        return bool(re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", self.text))


@dataclass
class Uv:
    """Works in ``folder``; looks for wheels in ``links`` too."""

    folder: Path
    links: Sequence[Path] = ()
    prerelease: bool = False

    def plan(
        self,
        wanted: Iterable[str],
        overrides: Iterable[str],
        constraints: Iterable[str],
        sources: Iterable[str],
    ) -> dict[str, str]:
        """Return name and version of what would be added to the runtime; nothing is installed.

        Only ``sources`` may be built: uv would try every old version again with each plan.

        Raises: UvFailed
        """
        built = [word for name in sources for word in ("--no-binary", name)]
        words = ["--only-binary", ":all:", *built]
        words += ["--dry-run", "--output-format", "json", "--break-system-packages"]
        words += ["-r", self._list("wanted.txt", wanted)]
        words += ["--overrides", self._list("overrides.txt", overrides)]
        words += ["-c", self._list("constraints.txt", constraints)]
        changes = json.loads(self._install(words))["changes"]
        return {item["name"]: item["version"] for item in changes if item["action"] == "installed"}

    def fill(self, target: Path, picked: Iterable[str]) -> None:
        """Install exactly these, with bytecode. Raises: UvFailed"""
        words = ["--no-deps", "--target", str(target), "--compile-bytecode"]
        self._install([*words, "-r", self._list("picked.txt", picked)])

    def builds(self, name: str, text: str) -> bool:
        """Tell whether a requirement can be built here, in a minute; its wheel is kept then.

        Raises: UvFailed when the network did not answer.
        """
        target = str(self.folder / "built")
        words = ["--no-deps", "--target", target, "--no-binary", name, text]
        try:
            self._install(words, timeout=_BUILD)
        except UvFailed as error:
            if error.outage:
                raise
            return False
        except subprocess.TimeoutExpired:
            return False
        return True

    def build(self, source: Path, wheels: Path) -> Path:
        """Return the wheel of a package's folder. Raises: UvFailed"""
        words = ["build", "--wheel", "--python", sys.executable, "-o", str(wheels), str(source)]
        if _built_by_setuptools(source):
            # By the runtime's own: old setup.py files import what is there, and need no network.
            words.append("--no-build-isolation")
        before = set(wheels.glob("*.whl"))
        self._run(words)
        return next(iter(set(wheels.glob("*.whl")) - before))

    def _install(self, words: Sequence[str], timeout: float | None = None) -> str:
        common = ["pip", "install", "--python", sys.executable]
        # Old packages build with the setuptools that still has pkg_resources.
        common += ["--build-constraints", self._list("build.txt", ["setuptools<81"])]
        if self.prerelease:
            common += ["--prerelease", "allow"]
        return self._run([*common, *words], timeout)

    def _run(self, words: Sequence[str], timeout: float | None = None) -> str:
        from uv import find_uv_bin

        known = [os.environ.get("UV_FIND_LINKS", ""), *map(str, self.links)]
        alone = ["--no-index"] if os.environ.get(NO_INDEX) else []
        with subprocess.Popen(
            [find_uv_bin(), *words, *alone],
            cwd=self.folder,
            env={**os.environ, "UV_FIND_LINKS": ",".join(filter(None, known))},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        ) as running:
            try:
                output, trouble = running.communicate(timeout=timeout)
            except subprocess.TimeoutExpired:
                os.killpg(running.pid, signal.SIGKILL)  # with its compilers
                raise
        if running.returncode:
            raise UvFailed(f"{output}\n{trouble}".strip())
        return output

    def _list(self, name: str, lines: Iterable[str]) -> str:
        path = self.folder / name
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return str(path)


def _built_by_setuptools(source: Path) -> bool:
    try:
        text = (source / "pyproject.toml").read_text(encoding="utf-8")
    except FileNotFoundError:
        return True
    backend = re.search(r"^[ \t]*build-backend[ \t]*=[ \t]*[\"']([\w.]+)", text, re.MULTILINE)
    return backend is None or backend[1].startswith("setuptools")
