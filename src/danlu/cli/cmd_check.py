"""danlu check: what would be repaired, mapped or refused, before anything runs."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from danlu.agent.environment import STARTUP
from danlu.cli import version_choice
from danlu.cli.code import Code, place
from danlu.cli.compose import recognise, started
from danlu.cli.evidence import Evidence, Seen
from danlu.cli.layout import fields
from danlu.cli.options import Command
from danlu.cli.render_translation import FAILING, groups
from danlu.cli.session import Session
from danlu.cli.sight import look
from danlu.cli.version_choice import Choice
from danlu.errors import PlatformError, Refused
from danlu.job.framework import TENSORFLOW_1
from danlu.words import say

_SOURCE = STARTUP.parents[1]
# Past the modules of the folder one stands in, which `python -m` would find first.
_START = (
    "import sys, runpy; sys.path.insert(0, sys.argv.pop(1)); "
    "runpy.run_module('danlu_runtime.check', run_name='__main__', alter_sys=True)"
)


@click.command("check", cls=Command)
@click.argument("path", type=click.Path())
@click.option("--dialect", default="", help="The service the script was written for.")
@click.option(
    "--framework-version", default="", metavar="VERSION", help="The TensorFlow it sees: 1.14, none."
)
@click.pass_obj
def command(session: Session, path: str, dialect: str, framework_version: str) -> int:
    """Tell what the script or code directory PATH needs to run here. Nothing of it is run.

    Exit 1 when something in it would fail.
    """
    code = place(path)
    if code.folder is None:
        raise Refused(say("check.elsewhere", path=path), hint=say("check.elsewhere.hint"))
    asked = version_choice.asked(framework_version)
    if find_spec("tensorflow") is None:
        raise Refused(say("check.no_tensorflow"), hint=say("check.no_tensorflow.hint"))
    seen = look(code)
    service, entry = _service(code, seen, dialect)
    chosen = asked or version_choice.of_dialect(service.dialect)
    chosen = chosen or version_choice.of_code(code, seen, entry)
    found = _look(path, code.folder, chosen)
    fails = any(found[kind] for kind in FAILING)
    if session.json:
        session.screen.json(_wire(path, service, chosen, found, fails))
    else:
        _show(session, service, chosen, found, fails)
    return int(fails)


def _service(code: Code, seen: Seen, asked: str) -> tuple[Evidence, str]:
    """Return the service a job would be of, and what it would start; either may be unknown."""
    try:
        chosen = recognise(code, seen, {"dialect": asked})
    except Refused as error:  # signs of two
        return Evidence("", error.message), ""
    try:
        return chosen, started(code, seen, "", chosen.dialect).boot_file
    except Refused:
        return chosen, ""


def _look(path: str, folder: Path, chosen: Choice) -> dict[str, Any]:
    """Let the runtime look at every file.

    Raises:
        PlatformError: it said nothing that can be understood.
    """
    env = {**os.environ, "DANLU_CODE": str(folder.absolute())}
    # Old files are looked at with the names of TensorFlow 1 where nothing else is known.
    env["DANLU_TENSORFLOW"] = chosen.version or TENSORFLOW_1
    words = [str(_SOURCE), str(Path(path).expanduser().absolute()), "--json"]
    done = subprocess.run(
        [sys.executable, "-I", "-c", _START, *words], env=env, capture_output=True, text=True
    )
    try:
        found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    except (ValueError, IndexError):
        last = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
        raise PlatformError(f"The runtime could not look at {path}: {last}") from None
    kinds = (*FAILING, "repaired", "mapped")
    return {kind: found.get(kind) or [] for kind in kinds}


def _wire(
    path: str, service: Evidence, chosen: Choice, found: Mapping[str, Any], fails: bool
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
    session: Session, service: Evidence, chosen: Choice, found: Mapping[str, Any], fails: bool
) -> None:
    screen = session.screen
    rows = [
        (say("show.dialect"), f"{service.dialect or '?'}  ({service.why})"),
        ("TensorFlow", f"{chosen.version or '-'}  ({chosen.why})"),
    ]
    lines = [*fields(rows), *groups(found, screen.paint)]
    ending = "check.fails" if fails else "check.runs"
    screen.data("\n".join([*lines, "", screen.paint(say(ending), "red" if fails else "green")]))
