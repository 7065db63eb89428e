"""The installer, a process in the sandbox because builds run code of the user.

``look`` returns a digest of what the job requires; ``make`` installs it. Both read order.json in
the given folder and write their answer beside it.
"""

import contextlib
import hashlib
import json
import os
import re
import shutil
import sys
import sysconfig
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from email.parser import HeaderParser
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from packaging.markers import Marker
from packaging.utils import canonicalize_name

from danlu.agent.packages.requirements import (
    COMPILED,
    NEVER,
    PackageChange,
    PackageRequest,
    RequestedPackages,
    choose,
    dropped,
    left_out,
    parse,
)
from danlu.agent.packages.uv import INDEX, Uv, UvFailed
from danlu.messages import get_message


class Impossible(Exception):
    """Requirements that cannot be installed at all; each of ``faults`` is a sentence."""

    def __init__(self, faults: Sequence[str], output: str = "") -> None:
        super().__init__("\n".join(faults))
        self.faults = list(faults)
        self.output = output


@dataclass
class Solver:
    """Installs requirements as written, and relaxes only those that fail."""

    uv: Uv
    runtime: Mapping[str, str]
    changes: list[PackageChange] = field(default_factory=list)
    installed: dict[str, str] = field(default_factory=dict)
    _sources: set[str] = field(default_factory=set)  # names that may be built
    _tried: set[str] = field(default_factory=set)

    def solve(self, wanted: Sequence[PackageRequest], target: Path) -> None:
        """Fill ``target`` and record the result in ``changes`` and ``installed``.

        Raises:
            UvFailed: the network did not answer.
            Impossible: names every requirement that cannot be installed.
        """
        active = self._choose(wanted)
        self._sources = {item.name for item in active if _is_source(item)}
        faults: list[str] = []
        output = ""
        while True:
            error = self._attempt(active, target)
            if error is None:
                break
            if error.outage:
                raise error
            if self._can_build(active, error):
                continue
            output = error.text
            index = self._suspect(active, error)
            suspect = active[index]
            if (suspect.loose or suspect.alone) and suspect.optional:
                self._drop(active, index, error)
            elif suspect.loose or suspect.alone:
                faults.append(f"{suspect.asked!r} ({suspect.where}): {error.line}")
                del active[index]
            else:
                self._relax(active, index)
        if faults:
            raise Impossible(faults, output)

    def version(self, name: str) -> str:
        return self.installed.get(name) or self.runtime.get(name, "")

    def _choose(self, wanted: Sequence[PackageRequest]) -> list[PackageRequest]:
        active = []
        for item in wanted:
            choice = choose(item, self.runtime)
            if choice.change is not None:
                self.changes.append(choice.change)
            if choice.install is not None:
                active.append(choice.install)
        return active

    def _attempt(self, active: Sequence[PackageRequest], target: Path) -> UvFailed | None:
        alone = [item for item in active if item.alone]
        try:
            self.installed = self._plan(active)
            given = {item.name: item for item in active if item.url}
            picked = [item.text for item in alone]
            for name, version in self.installed.items():
                picked.append(given[name].text if name in given else f"{name}=={version}")
            self.installed |= {item.name: item.specifier.lstrip("=") for item in alone}
            if picked:
                shutil.rmtree(target)  # left by an earlier attempt
                self.uv.fill(target, picked)
        except UvFailed as error:
            return error
        return None

    def _plan(self, active: Sequence[PackageRequest]) -> dict[str, str]:
        wanted = [item.text for item in active if not item.alone]
        if not wanted:
            return {}
        overrides = [f"{name} ; {NEVER}" for name in dropped(self.runtime)]
        held = [f"{name}=={version}" for name, version in self.runtime.items()]
        try:
            # First, versions that are compatible with the runtime.
            return self.uv.plan(wanted, overrides, held, self._sources)
        except UvFailed as error:
            if error.outage:
                raise
        # Otherwise the runtime's packages, whatever other packages require.
        return self.uv.plan(wanted, [*overrides, *held], [], self._sources)

    def _can_build(self, active: Sequence[PackageRequest], error: UvFailed) -> bool:
        """Allow builds of packages that have no wheel and can be built here.

        Return False if no package was added.
        """
        won = False
        direct = {item.name: item for item in active}
        for name in error.without_wheel:
            item = direct.get(name)
            text = item.text if item else name
            if text in self._tried:
                continue
            self._tried.add(text)
            if item is not None and not item.loose and name in COMPILED:
                continue
            if item is None or self.uv.builds(name, text):
                self._sources.add(name)
                won = True
        return won

    def _suspect(self, active: Sequence[PackageRequest], error: UvFailed) -> int:
        """Return the index of the failing requirement: the one named, else found by bisection."""
        lacking = error.without_wheel
        named = [n for n, item in enumerate(active) if item.name in lacking]
        named = named or [n for n, item in enumerate(active) if error.names(item.name)]
        if len(named) == 1:
            return named[0]
        good, bad = 0, len(active)  # the first `good` work together, the first `bad` do not
        while bad - good > 1:
            middle = (good + bad) // 2
            try:
                self._plan(active[:middle])
                good = middle
            except UvFailed as trouble:
                if trouble.outage:
                    raise
                bad = middle
        return bad - 1

    def _relax(self, active: list[PackageRequest], index: int) -> None:
        item = active[index]
        active[index] = item.loosened()
        # Each line has only one change, even if both its name and version differ.
        self.changes = [known for known in self.changes if known.asked != item.asked]
        self.changes.append(PackageChange(item.asked, item.where, "any_version", item.name))

    def _drop(self, active: list[PackageRequest], index: int, error: UvFailed) -> None:
        item = active.pop(index)
        self.changes = [known for known in self.changes if known.asked != item.asked]
        self.changes.append(left_out(item.asked, item.where, error.line))


def _is_source(item: PackageRequest) -> bool:
    return bool(item.url) and not item.url.split("#")[0].endswith(".whl")


_VERSION = 2  # of the result; a new one rebuilds all environments
_PASSED = (".git", "__pycache__")
_ACCOUNT = re.compile(r"\b(\w+://)[^/\s@]+@")
_METADATA = 4 << 20  # bytes of a METADATA that are read


def main(step: str, folder: Path) -> None:
    order = json.loads((folder / "order.json").read_bytes())
    asked = RequestedPackages()
    for path, package, optional in order["install"]:
        asked.optional = optional
        if package:
            asked.read_package(Path(path))
        else:
            asked.read_file(Path(path))
    answer = look(asked, order) if step == "look" else make(asked, order, folder)
    (folder / f"{step}.json").write_text(json.dumps(answer), encoding="utf-8")


def look(asked: RequestedPackages, order: dict[str, Any]) -> dict[str, Any]:
    """Return the digest of everything that an environment depends on; "" if none is needed."""
    if asked.faults:
        return {"faults": asked.faults}
    if not asked.wanted and not asked.packages:
        return {"digest": ""}
    digest = hashlib.sha256()
    settings = {name: _ACCOUNT.sub(r"\1", os.environ.get(name, "")) for name in INDEX}
    about = [_VERSION, sys.version, sysconfig.get_config_var("SOABI"), sysconfig.get_platform()]
    about += [sorted(runtime_packages().items()), order["strict"], sorted(settings.items())]
    digest.update(json.dumps(about).encode())
    for path in asked.files:
        _add(digest, path.name, path)
    for folder in asked.links:
        for wheel in sorted(folder.glob("*.whl")):
            _add(digest, wheel.name, wheel)
    for folder in asked.packages:
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder)
            if path.is_file() and not set(name.parts) & set(_PASSED):
                _add(digest, str(name), path)
    return {"digest": digest.hexdigest()}


def make(asked: RequestedPackages, order: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Install into ``folder``/environment. Return a report, or what is wrong."""
    target = folder / "environment"
    target.mkdir()
    solver = Solver(Uv(folder, asked.links, asked.prerelease), runtime_packages())
    try:
        wanted = [*asked.wanted]
        for package, optional in asked.packages.items():
            try:
                wanted += build(solver.uv, package, folder, optional=optional)
            except Impossible as error:
                if not optional:
                    raise
                print(error.output)
                solver.changes.append(
                    left_out(get_message("packages.the_package"), _setup(package), error.faults[0])
                )
        solver.solve(wanted, target)
    except Impossible as error:
        print(error.output)
        return {"faults": error.faults}
    except UvFailed as error:
        print(error.text)
        return {"outage": error.line}
    changes = [
        {**vars(change), "said": change.sentence(solver.version(change.got))}
        for change in solver.changes
    ]
    if order["strict"] and changes:
        return {"refused": [f"{item['asked']} ({item['where']})" for item in changes]}
    with contextlib.suppress(FileNotFoundError):
        os.unlink(target / ".lock")
    report = {"installed": solver.installed, "changed": changes, "notes": asked.notes}
    text = json.dumps(report, indent=2, ensure_ascii=False)
    (target / "packages.json").write_text(text + "\n", encoding="utf-8")
    return report


def _setup(package: Path) -> str:
    return "setup.py" if (package / "setup.py").is_file() else "pyproject.toml"


def build(uv: Uv, package: Path, folder: Path, *, optional: bool) -> list[PackageRequest]:
    """Build the package. Return its wheel and its own requirements."""
    number = len(list(folder.glob("source-*")))
    # Build a copy, because a build leaves files beside the sources.
    source = folder / f"source-{number}" / package.name
    shutil.copytree(package, source, symlinks=True, ignore=shutil.ignore_patterns(*_PASSED))
    wheels = folder / "wheels"
    wheels.mkdir(exist_ok=True)
    where = _setup(package)
    try:
        wheel = uv.build(source, wheels)
    except UvFailed as error:
        if error.outage:
            raise
        raise Impossible(
            [get_message("packages.no_build", where=where, line=error.line)], error.text
        ) from None
    about = _metadata(wheel)
    name = canonicalize_name(about["Name"])
    version = f"=={about['Version']}"
    found = [PackageRequest(name, where, name, specifier=version, url=wheel.as_uri(), alone=True)]
    for text in about.get_all("Requires-Dist") or ():
        wanted = parse(text, where)
        if wanted is not None and (not wanted.marker or _holds(wanted.marker)):
            found.append(wanted)
    return [replace(item, optional=optional) for item in found]


def runtime_packages() -> dict[str, str]:
    return {canonicalize_name(item.name): item.version for item in distributions() if item.name}


def _metadata(wheel: Path) -> Any:
    with zipfile.ZipFile(wheel) as archive:
        name = next(n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        with archive.open(name) as file:
            return HeaderParser().parsestr(file.read(_METADATA).decode("utf-8", "replace"))


def _holds(marker: str) -> bool:
    return Marker(marker).evaluate({"extra": ""})


def _add(digest: "hashlib._Hash", name: str, path: Path) -> None:
    digest.update(json.dumps([name, path.stat().st_mode & 0o111]).encode())
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    digest.update(b"\0")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
