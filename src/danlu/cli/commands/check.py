"""The command ``danlu check``, and the choice of the TensorFlow version that a script sees.

``danlu check`` reports what would be repaired, mapped or refused, without running the script.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from danlu.agent.script.environment import STARTUP
from danlu.cli.code import Code, place, read_code, read_folder, read_text
from danlu.cli.options import CliCommand
from danlu.cli.request import recognise, started
from danlu.cli.session import Session
from danlu.cli.show import FAILING, groups
from danlu.cli.text import fields
from danlu.errors import PlatformError, Refused
from danlu.job.spec import NOT_OURS, TENSORFLOW_1, UNDECIDED, parse
from danlu.messages import VARIABLE, get_message, language
from danlu.usercode import tensorflow_version
from danlu.usercode.code_snapshot import CodeSnapshot, ReadBudget
from danlu.usercode.service_detection import DetectedService

_STARTS = re.compile(r"\bsubprocess\b|\bos\.(system|popen|exec|spawn)")


@dataclass(frozen=True)
class VersionChoice:
    """A TensorFlow version and the reason for it.

    ``version`` is empty if TensorFlow is left unchanged.
    """

    version: str
    why: str


def asked(given: str) -> VersionChoice | None:
    """Return the version that the user requested; None if it is left open.

    Raises:
        Refused: ``given`` is not a version of TensorFlow 1 or 2.
    """
    if given in ("", UNDECIDED):
        return None
    version = "" if given == NOT_OURS else parse(given)
    if version is None:
        raise Refused(
            get_message("version.none_such", version=repr(given)), hint=get_message("version.hint")
        )
    return VersionChoice(version, get_message("version.asked"))


def of_dialect(dialect: str) -> VersionChoice | None:
    """Return the version that a service uses for all its jobs; None if it has no fixed version."""
    from danlu import dialects

    fixed = str(getattr(dialects.get(dialect), "TENSORFLOW", "")) if dialect else ""
    return VersionChoice(fixed, get_message("version.dialect", dialect=dialect)) if fixed else None


def of_code(code: Code, seen: CodeSnapshot, entry: str) -> VersionChoice:
    """Return the version detected in the code; ``entry`` is the file to start, if known."""
    path = Path(code.path).expanduser()
    if code.packed or code.folder is None:
        return version_choice(tensorflow_version.find(seen.texts, entry))
    if path.is_file():
        return of_file(path)
    return version_choice(tensorflow_version.find(read_folder(path, ReadBudget()).texts, entry))


def of_file(path: Path) -> VersionChoice:
    """Return the version detected in a script and the modules it imports."""
    return of_entry(path.name, path.parent)


def of_entry(entry: str, folder: Path) -> VersionChoice:
    """Return the version detected in a file or module and its imports.

    If nothing is detected there but it starts other programs, all code in ``folder`` is searched.
    """
    reached = tensorflow_version.follow(entry, reader(folder))
    found = tensorflow_version.decide(reached)
    if found is None and any(_STARTS.search(text) for text in reached.values()):
        found = tensorflow_version.decide(read_folder(folder, ReadBudget()).texts)
    return version_choice(found or tensorflow_version.DetectedVersion())


def reader(folder: Path) -> tensorflow_version.Read:
    budget = ReadBudget()

    def read(name: str) -> str | None:
        path = folder / name
        with suppress(OSError, ValueError):
            if path.is_file() and path.stat().st_size <= budget.each:
                return read_text(path)
        return None

    return read


def version_choice(found: tensorflow_version.DetectedVersion) -> VersionChoice:
    if found.sign is None:
        return VersionChoice("", get_message("version.nothing"))
    place = f"{found.sign.file}:{found.sign.line}"
    return VersionChoice(
        found.version, get_message(f"version.{found.why}", place=place, name=found.sign.shown)
    )


_SOURCE = STARTUP.parents[1]
# `python -m` would find modules of the current directory first.
_START = (
    "import sys, runpy; sys.path.insert(0, sys.argv.pop(1)); "
    "runpy.run_module('danlu_runtime.check', run_name='__main__', alter_sys=True)"
)


@click.command("check", cls=CliCommand)
@click.argument("path", type=click.Path())
@click.option("--dialect", default="", help="option.dialect")
@click.option("--framework-version", default="", metavar="VERSION", help="option.framework_version")
@click.pass_obj
def check_command(session: Session, path: str, dialect: str, framework_version: str) -> int:
    """Report what the script or code directory PATH needs to run here. Nothing of it is run.

    Exit 1 when something in it would fail.
    """
    code = place(path)
    if code.folder is None:
        raise Refused(
            get_message("check.elsewhere", path=path), hint=get_message("check.elsewhere.hint")
        )
    wanted = asked(framework_version)
    if find_spec("tensorflow") is None:
        raise Refused(
            get_message("check.no_tensorflow"), hint=get_message("check.no_tensorflow.hint")
        )
    seen = read_code(code)
    service, entry = _service(code, seen, dialect)
    chosen = wanted or of_dialect(service.dialect)
    chosen = chosen or of_code(code, seen, entry)
    found = _look(path, code.folder, chosen)
    fails = any(found[kind] for kind in FAILING)
    if session.json:
        session.screen.json(_wire(path, service, chosen, found, fails))
    else:
        _show(session, service, chosen, found, fails)
    return int(fails)


def _service(code: Code, seen: CodeSnapshot, asked: str) -> tuple[DetectedService, str]:
    """Return the detected service and the file to start; either is empty if unknown."""
    try:
        chosen = recognise(code, seen, {"dialect": asked})
    except Refused as error:  # two services were detected
        return DetectedService("", error.message), ""
    try:
        return chosen, started(code, seen, "", chosen.dialect).boot_file
    except Refused:
        return chosen, ""


def _look(path: str, folder: Path, chosen: VersionChoice) -> dict[str, Any]:
    """Check every file with the runtime, in a separate process; return its findings.

    Raises:
        PlatformError: the runtime printed no valid result.
    """
    env = {**os.environ, "DANLU_CODE": str(folder.absolute()), VARIABLE: language()}
    # If the version is unknown, old files are checked against the names of TensorFlow 1.
    env["DANLU_TENSORFLOW"] = chosen.version or TENSORFLOW_1
    words = [str(_SOURCE), str(Path(path).expanduser().absolute()), "--json"]
    done = subprocess.run(
        [sys.executable, "-I", "-c", _START, *words], env=env, capture_output=True, text=True
    )
    try:
        found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    except (ValueError, IndexError):
        last = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
        raise PlatformError.from_key("check.failed", path=path, last=last) from None
    kinds = (*FAILING, "repaired", "mapped")
    return {kind: found.get(kind) or [] for kind in kinds}


def _wire(
    path: str,
    service: DetectedService,
    chosen: VersionChoice,
    found: Mapping[str, Any],
    fails: bool,
) -> dict[str, Any]:
    return {
        "path": path,
        "dialect": service.dialect,
        "dialect_why": service.why,
        "tensorflow": chosen.version,
        "tensorflow_why": chosen.why,
        **found,
        "fails": fails,
    }


def _show(
    session: Session,
    service: DetectedService,
    chosen: VersionChoice,
    found: Mapping[str, Any],
    fails: bool,
) -> None:
    screen = session.screen
    rows = [
        (get_message("show.dialect"), f"{service.dialect or '?'}  ({service.why})"),
        ("TensorFlow", f"{chosen.version or '-'}  ({chosen.why})"),
    ]
    lines = [*fields(rows), *groups(found, screen.paint)]
    ending = "check.fails" if fails else "check.runs"
    screen.data(
        "\n".join([*lines, "", screen.paint(get_message(ending), "red" if fails else "green")])
    )
