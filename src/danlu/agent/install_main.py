"""The installer: a process at the task's place, for builds run code of the user's.

``look`` tells what the job asks for, as a digest; ``make`` installs it. Both read order.json in
the folder they are given and write their answer beside it.
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
from email.parser import HeaderParser
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from packaging.markers import Marker
from packaging.utils import canonicalize_name

from danlu.agent.install_index import INDEX
from danlu.agent.install_solve import Impossible, Solver
from danlu.agent.install_uv import Uv, UvFailed
from danlu.agent.install_wanted import Asked, Wanted, parse

_VERSION = 1  # of what is made; another one makes all environments anew
_PASSED = (".git", "__pycache__")
_ACCOUNT = re.compile(r"\b(\w+://)[^/\s@]+@")
_METADATA = 4 << 20  # bytes of a METADATA that are read


def main(step: str, folder: Path) -> None:
    order = json.loads((folder / "order.json").read_bytes())
    asked = Asked()
    for path, package in order["install"]:
        if package:
            asked.read_package(Path(path))
        else:
            asked.read_file(Path(path))
    answer = look(asked, order) if step == "look" else make(asked, order, folder)
    (folder / f"{step}.json").write_text(json.dumps(answer), encoding="utf-8")


def look(asked: Asked, order: dict[str, Any]) -> dict[str, Any]:
    """Return the digest of everything an environment depends on; "" where none is needed."""
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


def make(asked: Asked, order: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Install into ``folder``/environment; return what was done, or what is wrong."""
    target = folder / "environment"
    target.mkdir()
    solver = Solver(Uv(folder, asked.links, asked.prerelease), runtime_packages())
    try:
        wanted = [*asked.wanted]
        for package in asked.packages:
            wanted += build(solver.uv, package, folder)
        solver.solve(wanted, target)
    except Impossible as error:
        print(error.said)
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


def build(uv: Uv, package: Path, folder: Path) -> list[Wanted]:
    """Return the package's wheel, and what it asks for itself."""
    number = len(list(folder.glob("source-*")))
    # A copy: a build leaves its traces beside the sources.
    source = folder / f"source-{number}" / package.name
    shutil.copytree(package, source, symlinks=True, ignore=shutil.ignore_patterns(*_PASSED))
    wheels = folder / "wheels"
    wheels.mkdir(exist_ok=True)
    where = "setup.py" if (package / "setup.py").is_file() else "pyproject.toml"
    try:
        wheel = uv.build(source, wheels)
    except UvFailed as error:
        if error.outage:
            raise
        raise Impossible([f"{where} does not build: {error.line}"], error.text) from None
    about = _metadata(wheel)
    name = canonicalize_name(about["Name"])
    found = [
        Wanted(name, where, name, specifier=f"=={about['Version']}", url=wheel.as_uri(), alone=True)
    ]
    for text in about.get_all("Requires-Dist") or ():
        wanted = parse(text, where)
        if wanted is not None and (not wanted.marker or _holds(wanted.marker)):
            found.append(wanted)
    return found


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
