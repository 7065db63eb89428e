"""From a path and the fields a person gave to the request of one service, and its code."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from danlu.cli.code import Code, guessed, place, with_file, with_module
from danlu.cli.evidence import Evidence, Seen, find, has_four
from danlu.cli.fields import ENTRIES, OPTIONS, choose, entry_field
from danlu.cli.request import with_places
from danlu.cli.session import Session
from danlu.cli.sight import look
from danlu.words import say


def compose(
    session: Session, path: str, fields: Mapping[str, Any], base: Path | None = None
) -> tuple[dict[str, Any], Code]:
    """Return the request without its code, and the code. Paths are relative to ``base``.

    Raises:
        Refused: a field belongs to another service, or it cannot be told what to start.
    """
    code = place(path)
    seen = look(code)
    entry = _entry(fields)
    chosen = recognise(code, seen, fields)
    if not fields.get("dialect") and not session.json:
        session.screen.say("dialect.chosen", dialect=chosen.dialect, why=chosen.why)
    rest = {name: value for name, value in fields.items() if name not in (*ENTRIES, "dialect")}
    request = with_places({"dialect": chosen.dialect, **rest}, base)
    return request, started(code, seen, entry, chosen.dialect)


def recognise(code: Code, seen: Seen, fields: Mapping[str, Any]) -> Evidence:
    """Return the service of a job by what was asked for, its fields and its code.

    Raises:
        Refused: a field belongs to another service, or there are signs of two.
    """
    entry = _entry(fields)
    given = [name for name, value in fields.items() if value]
    return choose(given, str(fields.get("dialect") or ""), lambda: _find(code, seen, entry))


def _entry(fields: Mapping[str, Any]) -> str:
    return next((str(fields[name]) for name in ENTRIES if fields.get(name)), "")


def _find(code: Code, seen: Seen, entry: str) -> Evidence:
    if code.folder is None and not code.packed:
        return Evidence("modelarts", say("dialect.remote"))
    return find(seen, entry or guessed(code))


def started(code: Code, seen: Seen, entry: str, dialect: str) -> Code:
    """Return the code with what a job of it would start.

    Raises:
        Refused: that cannot be told.
    """
    field = entry_field(dialect)
    if field == "module":
        return with_module(code, entry, seen.names)
    if not entry and dialect == "modelmaker":
        # The file is known by its four functions, whatever it is called.
        models = [name for name, text in seen.texts.items() if has_four(text)]
        if len(models) == 1 and (code.packed or Path(code.path).expanduser().is_dir()):
            return code._replace(boot_file=models[0])
    return with_file(code, entry, OPTIONS.get(field, "--boot-file"))
