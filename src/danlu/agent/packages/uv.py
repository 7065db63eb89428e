"""Calls uv to plan an installation, to fill a folder and to build a wheel.

A plan adds packages beside those of the runtime. The settings of pip are translated for uv.
"""

import configparser
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_PLAIN = frozenset(
    (
        *("PATH", "HOME", "USER", "LOGNAME", "LANG", "TMPDIR", "NETRC"),
        *("XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "XDG_CACHE_HOME"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "SSL_CLIENT_CERT"),
        *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
    )
)
# Options that Danlu sets itself on each call.
_OURS = (
    *("UV_PYTHON", "UV_SYSTEM_PYTHON", "UV_TARGET", "UV_PREFIX", "UV_OVERRIDE", "UV_CONSTRAINT"),
    *("UV_BUILD_CONSTRAINT", "UV_REQUIRE_HASHES", "UV_PROJECT", "UV_WORKING_DIR", "UV_LINK_MODE"),
    *("UV_NO_BUILD_ISOLATION", "UV_RESOLUTION", "UV_BREAK_SYSTEM_PACKAGES"),
)
NO_INDEX = "UV_NO_INDEX"  # defined by Danlu: uv has it as an argument only
INDEX = (
    *("UV_DEFAULT_INDEX", "UV_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS"),
    *(NO_INDEX, "UV_OFFLINE", "UV_INDEX_STRATEGY", "UV_CONFIG_FILE"),
)


def installer_environment(own: Mapping[str, str], hidden: Path, scratch: Path) -> dict[str, str]:
    """Return the environment of the installer.

    ``own`` is the environment of the agent, ``hidden`` a folder that a task does not see. uv caches
    in ``scratch`` if it cannot use its usual cache.
    """
    kept = installer_variables(own)
    if not _can_cache(kept, hidden):
        kept["UV_CACHE_DIR"] = str(scratch)
    return {
        **kept,
        "NO_COLOR": "1",
        "UV_NO_PROGRESS": "1",
        "UV_LINK_MODE": "copy",  # a write to a shared file would change uv's cache
        "UV_PYTHON_DOWNLOADS": "never",
    }


def installer_variables(own: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that the installer inherits from this machine.

    pip's settings are used if there are none for uv.
    """
    kept = {name: value for name, value in own.items() if name.upper() in _PLAIN}
    kept |= {k: v for k, v in own.items() if k.startswith("UV_") and k not in _OURS}
    if not any(name in own for name in INDEX) and not _has_uv_file(own):
        kept |= {**_of_pip(pip_options(own)), **kept}
    return kept


def pip_options(own: Mapping[str, str]) -> dict[str, str]:
    """Return the options in pip's files and variables, by their names in pip's files."""
    found: dict[str, str] = {}
    for path in _pip_files(own):
        parser = configparser.RawConfigParser()
        try:
            parser.read(path, encoding="utf-8")
        except (configparser.Error, UnicodeDecodeError):
            continue
        for section in ("global", "install"):
            if parser.has_section(section):
                found |= {k.replace("_", "-"): v for k, v in parser.items(section)}
    for name, value in own.items():
        if name.startswith("PIP_"):
            found[name[4:].lower().replace("_", "-")] = value
    return found


def _of_pip(options: Mapping[str, str]) -> dict[str, str]:
    """Return pip's options as variables of uv."""
    found: dict[str, str] = {}
    if options.get("index-url"):
        found["UV_DEFAULT_INDEX"] = options["index-url"]
    if options.get("extra-index-url"):
        found["UV_INDEX"] = " ".join(options["extra-index-url"].split())
        found["UV_INDEX_STRATEGY"] = "unsafe-best-match"  # pip searches all of them
    if options.get("find-links"):
        found["UV_FIND_LINKS"] = ",".join(options["find-links"].split())
    if options.get("no-index", "").lower() in ("1", "true", "yes", "on"):
        found[NO_INDEX] = "1"
    if options.get("trusted-host"):
        found["UV_INSECURE_HOST"] = " ".join(options["trusted-host"].split())
    if options.get("cert"):
        found["SSL_CERT_FILE"] = options["cert"]
    if options.get("proxy"):
        found["HTTP_PROXY"] = found["HTTPS_PROXY"] = options["proxy"]
    timeout = options.get("timeout") or options.get("default-timeout")
    if timeout:
        found["UV_HTTP_TIMEOUT"] = timeout
    return found


def _pip_files(own: Mapping[str, str]) -> list[Path]:
    """Return the files that pip reads, in its order; the last one wins."""
    named = own.get("PIP_CONFIG_FILE", "")
    if named == os.devnull:
        return []
    home = Path(own.get("HOME") or "/nonexistent")
    config = Path(own.get("XDG_CONFIG_HOME") or home / ".config")
    shared = [Path(folder, "pip/pip.conf") for folder in _config_dirs(own)]
    personal = [home / ".pip/pip.conf", config / "pip/pip.conf"]
    own_file = [Path(sys.prefix, "pip.conf"), *([Path(named)] if named else [])]
    return [*shared, Path("/etc/pip.conf"), *personal, *own_file]


def _has_uv_file(own: Mapping[str, str]) -> bool:
    config = own.get("XDG_CONFIG_HOME") or str(Path(own.get("HOME") or "/nonexistent", ".config"))
    folders = [config, *_config_dirs(own), "/etc"]
    return any(Path(folder, "uv/uv.toml").is_file() for folder in folders)


def _config_dirs(own: Mapping[str, str]) -> list[str]:
    return [folder for folder in (own.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(":") if folder]


def _can_cache(env: Mapping[str, str], hidden: Path) -> bool:
    """Return True if uv's cache can be written, or created, from inside the sandbox."""
    usual = Path(env.get("XDG_CACHE_HOME") or Path(env.get("HOME") or "/nonexistent", ".cache"))
    at = Path(os.path.realpath(env.get("UV_CACHE_DIR") or usual / "uv"))
    if at.is_relative_to(os.path.realpath(hidden)):
        return False
    while not at.exists():
        at = at.parent
    return at != Path("/") and os.access(at, os.W_OK)


_MAX_LINE = 300
_BUILD = 60.0  # seconds to build one old version; a package without C code needs a few
_ADDRESS = re.compile(r"\b(\w+://)[^/\s@]+@")  # user and password
# Messages of uv when the network is at fault, not the requirement.
_OUTAGE = re.compile(
    r"error sending request|Failed to fetch: |dns error|tcp connect error|Connection refused"
    r"|Connection reset|operation timed out|request timeout|Network is unreachable"
    r"|error decoding response body|HTTP status (server error|client error \((408|429))"
)
_REFUSED = re.compile(r"HTTP status client error \((401|403|404)")
_NO_WHEEL = re.compile(r"Wheels are required for `([^`]+)`")
_RAISED = re.compile(r"^[^\S\n]*(\w+(?:\.\w+)*(?:Error|Exception|Exit)\b.*)$", re.MULTILINE)


class UvFailed(Exception):
    """A failed call of uv; ``text`` is its output. ``outage``: a retry may succeed."""

    def __init__(self, text: str) -> None:
        self.text = _ADDRESS.sub(r"\1***@", text)
        super().__init__(self.line)

    @property
    def outage(self) -> bool:
        return bool(_OUTAGE.search(self.text)) and not _REFUSED.search(self.text)

    @property
    def line(self) -> str:
        """The reason in one line.

        It is the conclusion of uv's resolver, else the exception of a build, else the last error.
        """
        raised = _RAISED.findall(self.text)
        parts = [
            line.strip().removeprefix("cause: ").removeprefix("error: ")
            for line in self.text.splitlines()
            if line.strip().startswith(("cause: ", "error: "))
        ]
        because = [part for part in parts if part.startswith("Because ")]
        found = because[:1] or raised[-1:] or parts[-1:] or self.text.split("\n")[-1:]
        text = " ".join(found[0].split())
        return text if len(text) <= _MAX_LINE else text[: _MAX_LINE - 1] + "…"

    @property
    def without_wheel(self) -> list[str]:
        """Names of packages that fail only because they would have to be built."""
        return _NO_WHEEL.findall(self.text)

    def names(self, name: str) -> bool:
        return bool(re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", self.text))


@dataclass
class Uv:
    """Runs uv in ``folder``; wheels are also searched in ``links``."""

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
        """Return name and version of the packages that would be added to the runtime.

        Nothing is installed. Only ``sources`` may be built, because uv would try every old version
        again with each plan.

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
        """Install exactly the packages in ``picked``, with bytecode. Raises: UvFailed"""
        words = ["--no-deps", "--target", str(target), "--compile-bytecode"]
        self._install([*words, "-r", self._list("picked.txt", picked)])

    def builds(self, name: str, text: str) -> bool:
        """Return True if a requirement can be built here in a minute; its wheel is kept then.

        Raises: UvFailed if the network did not answer.
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
        """Build the package in a folder and return its wheel. Raises: UvFailed"""
        words = ["build", "--wheel", "--python", sys.executable, "-o", str(wheels), str(source)]
        if _built_by_setuptools(source):
            # Use the runtime's packages: old setup.py files import them, and no network is needed.
            words.append("--no-build-isolation")
        before = set(wheels.glob("*.whl"))
        self._run(words)
        return next(iter(set(wheels.glob("*.whl")) - before))

    def _install(self, words: Sequence[str], timeout: float | None = None) -> str:
        common = ["pip", "install", "--python", sys.executable]
        # Old packages need a setuptools that still has pkg_resources.
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
                os.killpg(running.pid, signal.SIGKILL)  # and the compilers it started
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
