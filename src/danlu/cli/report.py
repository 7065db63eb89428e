"""How an error reaches a person: a sentence and a hint. Only faults of ours have a traceback."""

import traceback
from typing import Any

import click

from danlu.cli.session import Session
from danlu.cli.units import moment
from danlu.errors import DanluError, Refused, StorageError, Unavailable, UserError
from danlu.words import say


def report(session: Session, error: Exception) -> int:
    """Tell ``error`` and return the exit code that goes with it."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError) and not session.json:
        session.screen.note(error.format_message())
        return error.exit_code
    if isinstance(error, click.ClickException):
        return _tell(session, _usage(error))
    if isinstance(error, UserError | Unavailable | StorageError):
        return _tell(session, error)
    if isinstance(error, OSError) and error.strerror and error.filename:
        return _tell(session, Unavailable(f"{error.filename}: {error.strerror}."))
    return _internal(session, error)


def _usage(error: click.ClickException) -> UserError:
    hint = ""
    context = getattr(error, "ctx", None)
    if context is not None:
        hint = say("error.usage", command=context.command_path)
    return Refused(error.format_message(), hint=hint)


def _tell(session: Session, error: DanluError) -> int:
    if session.json:
        session.screen.json({"error": error.to_wire()})
    else:
        show(session, error.message, error.hint)
    return error.exit_code


def show(session: Session, message: str, hint: str = "") -> None:
    screen = session.screen
    label = screen.paint(say("error.label"), "red bold", screen.err)
    first, *rest = message.split("\n")
    screen.note("\n".join([f"{label} {first}", *(f"  {line}" for line in rest)]))
    if hint:
        screen.note(f"{screen.paint(say('error.hint'), 'bold', screen.err)} {hint}")


def _internal(session: Session, error: Exception) -> int:
    known = isinstance(error, DanluError)
    message = error.message if isinstance(error, DanluError) else _one_line(error)
    details = "".join(traceback.format_exception(error))
    log = "" if session.debug else _write_log(session, details)
    if session.json:
        wire: dict[str, Any] = (
            error.to_wire()
            if isinstance(error, DanluError)
            else {
                "code": "internal",
                "message": message,
                "hint": "",
            }
        )
        session.screen.json({"error": {**wire, "log": log}})
        return 1
    show(
        session, say("error.internal", message=message), getattr(error, "hint", "") if known else ""
    )
    if session.debug:
        session.screen.note(details.rstrip())
    elif log:
        session.screen.say("error.log", path=log)
    return 1


def _one_line(error: Exception) -> str:
    return " ".join(traceback.format_exception_only(error)[-1].split())


def _write_log(session: Session, details: str) -> str:
    """Keep the traceback beside the server's log; a home that cannot be written has none."""
    try:
        path = session.settings.home / "cli.log"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            import time

            file.write(f"{moment(time.time())}\n{details}\n")
        return str(path)
    except (OSError, DanluError):
        return ""
