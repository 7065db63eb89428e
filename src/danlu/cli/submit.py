"""Submitting and following a job, shared by ``run``, ``submit``, ``rerun`` and ``demo``."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from danlu.cli.code import Code, send
from danlu.cli.request import check_apart, entry_field, local_places
from danlu.cli.session import Session
from danlu.errors import Refused
from danlu.job.spec import REHEARSAL
from danlu.messages import get_message

_LISTED = 12


class Submission(NamedTuple):
    """A job to be submitted.

    ``request`` is complete except for the code. ``code`` is None if there is nothing to upload,
    for an algorithm or a preset model.
    """

    request: Mapping[str, Any]
    code: Code | None
    secrets: Mapping[str, str] = MappingProxyType({})
    token: str | None = None


def shortened(session: Session, max_steps: int | None, rehearse: bool) -> dict[str, Any]:
    """Return the fields that end training early; print a message if it is a rehearsal."""
    if not rehearse:
        return {"max_steps": max_steps}
    count = max_steps or REHEARSAL
    if not session.json:
        session.screen.print_message("run.rehearsal")
    return {"max_steps": count, "rehearse": True}


def prepare(session: Session, submission: Submission) -> dict[str, Any]:
    """Upload the code and return the complete request.

    Raises:
        Refused: the request has local paths, but the server is remote.
    """
    data = local_places(submission.request)
    if data and session.settings.server:
        raise Refused(
            get_message("run.local_elsewhere", path=str(data[0]), server=session.settings.server),
            hint=get_message("run.local_elsewhere.hint"),
        )
    request = dict(submission.request)
    if submission.code is not None:
        if submission.code.folder is not None:
            check_apart(request, Path(submission.code.path).expanduser())
        request |= _sent(session, submission.code, str(request["dialect"]), data)
    if submission.secrets:
        request["secrets"] = sorted(submission.secrets)
    return request


def _sent(session: Session, code: Code, dialect: str, data: Sequence[Path]) -> dict[str, Any]:
    """Upload the code and return the fields that name it."""
    uri, code = send(session, code, data)
    if not session.json:
        _print_packed(session, code)
    fields = {"code": uri, entry_field(dialect): code.boot_file}
    if code.packed or code.folder is not None:
        fields["code_path"] = os.path.abspath(Path(code.path).expanduser())
    return fields if code.folder is None else {**fields, "code_origin": code.origin}


def _print_packed(session: Session, code: Code) -> None:
    """Print which files were packed with a single script, and which were left out."""
    if code.files:
        session.screen.print_message("run.packed", files=", ".join(code.files[:_LISTED]))
    if len(code.files) > _LISTED:
        session.screen.print_message("run.packed_more", count=len(code.files) - _LISTED)
    if code.left_out:
        session.screen.print_message("run.left_out", files=", ".join(code.left_out[:_LISTED]))


def show_plan(session: Session, submission: Submission) -> int:
    """Print the plan of a job without starting it; return the exit code."""
    from danlu.cli import show

    planned = session.client.plan(prepare(session, submission))
    if session.json:
        session.screen.json(planned)
        return 0
    for note in planned["job"]["notes"]:
        session.screen.note(note)
    session.screen.data("\n".join(show.plan(planned)))
    return 0


def submit(session: Session, submission: Submission) -> Mapping[str, Any]:
    """Submit a job, print its notes and return its view."""
    request = prepare(session, submission)
    try:
        view = session.client.submit(request, dict(submission.secrets), submission.token)
    except KeyboardInterrupt:
        session.screen.print_message("run.interrupted")
        raise
    print_notes(session, view)
    return view


def print_notes(session: Session, view: Mapping[str, Any]) -> None:
    if not session.json:
        for note in view["notes"]:
            session.screen.note(note)


def accepted(
    session: Session, view: Mapping[str, Any], *, detach: bool, quiet: bool = False
) -> int:
    """Print that a job was accepted, then follow it; return the exit code.

    With ``detach``, print how to follow it instead.
    """
    if session.json:
        session.screen.json(view if detach else {"submitted": view})
    elif detach:
        session.screen.data(view["id"] if quiet else view["name"])
        if not quiet:
            session.screen.print_message("run.follow_with", name=view["name"])
    else:
        session.screen.print_message("run.accepted", name=view["name"])
    if detach:
        return 0
    from danlu.cli.follow import follow  # imported late, while the job is already starting

    return follow(session, view, ours_apart=True)
