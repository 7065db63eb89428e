"""What ``run``, ``submit`` and ``demo`` have in common: hand a job over, then follow it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from danlu.cli.code import Code, send
from danlu.cli.fields import entry_field
from danlu.cli.request import local_places
from danlu.cli.session import Session
from danlu.errors import Refused
from danlu.words import say

_LISTED = 12
REHEARSAL = 3  # steps: enough to build, train, save and evaluate once


class Submission(NamedTuple):
    """A job about to be handed over. ``request`` lacks nothing but its code, and where that is
    None, an algorithm's, not even that."""

    request: Mapping[str, Any]
    code: Code | None
    secrets: Mapping[str, str] = MappingProxyType({})
    token: str | None = None


def steps(session: Session, given: int | None, rehearse: bool) -> int | None:
    """Return after how many steps training shall end, and say so where it is a rehearsal."""
    if not rehearse:
        return given
    count = given or REHEARSAL
    if not session.json:
        session.screen.say("run.rehearsal", steps=count)
    return count


def prepare(session: Session, submission: Submission) -> dict[str, Any]:
    """Upload the code and return the whole request."""
    data = local_places(submission.request)
    if data and session.settings.server:
        raise Refused(
            say("run.local_elsewhere", path=str(data[0]), server=session.settings.server),
            hint=say("run.local_elsewhere.hint"),
        )
    request = dict(submission.request)
    if submission.code is not None:
        request |= _sent(session, submission.code, str(request["dialect"]), data)
    if submission.secrets:
        request["secrets"] = sorted(submission.secrets)
    return request


def _sent(session: Session, code: Code, dialect: str, data: Sequence[Path]) -> dict[str, Any]:
    """Upload the code and return the fields that name it."""
    uri, code = send(session, code, data)
    if not session.json:
        _tell_packed(session, code)
    fields = {"code": uri, entry_field(dialect): code.boot_file}
    return fields if code.folder is None else {**fields, "code_origin": code.origin}


def _tell_packed(session: Session, code: Code) -> None:
    """Of a directory everything is taken; of a single file people want to know."""
    if code.files:
        session.screen.say("run.packed", files=", ".join(code.files[:_LISTED]))
    if len(code.files) > _LISTED:
        session.screen.say("run.packed_more", count=len(code.files) - _LISTED)
    if code.left_out:
        session.screen.say("run.left_out", files=", ".join(code.left_out[:_LISTED]))


def show_plan(session: Session, submission: Submission) -> int:
    """Show what would run, and start nothing."""
    from danlu.cli import render_plan

    planned = session.client.plan(prepare(session, submission))
    if session.json:
        session.screen.json(planned)
        return 0
    for note in planned["job"]["notes"]:
        session.screen.note(note)
    session.screen.data("\n".join(render_plan.plan(planned)))
    return 0


def submit(session: Session, submission: Submission) -> Mapping[str, Any]:
    """Hand the job over and return its view; notes are told at once."""
    request = prepare(session, submission)
    try:
        view = session.client.submit(request, dict(submission.secrets), submission.token)
    except KeyboardInterrupt:
        session.screen.say("run.interrupted")
        raise
    if not session.json:
        for note in view["notes"]:
            session.screen.note(note)
    return view


def accepted(
    session: Session, view: Mapping[str, Any], *, detach: bool, quiet: bool = False
) -> int:
    """Say that a job was accepted, then follow it or say how to."""
    if session.json:
        session.screen.json(view if detach else {"submitted": view})
    elif detach:
        session.screen.data(view["id"] if quiet else view["name"])
        if not quiet:
            session.screen.say("run.follow_with", name=view["name"])
    else:
        session.screen.say("run.accepted", name=view["name"])
    if detach:
        return 0
    from danlu.cli.follow import follow  # only now: the job is on its way meanwhile

    return follow(session, view, ours_apart=True)
