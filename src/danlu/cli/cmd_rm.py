"""danlu rm: forget ended jobs."""

from collections.abc import Mapping
from typing import Any

import click

from danlu.cli.options import Command, job_argument
from danlu.cli.session import Session
from danlu.errors import Refused
from danlu.words import say


@click.command("rm", cls=Command)
@job_argument(required=True, several=True)
@click.option("-y", "--yes", is_flag=True, help="Do not ask when JOB is not a full name or id.")
@click.pass_obj
def command(session: Session, jobs: tuple[str, ...], yes: bool) -> None:
    """Remove each ended JOB with its log. Its outputs stay where they are."""
    for job in jobs:
        view = session.client.job(job)
        if not yes:
            _confirm(session, job, view)
        session.client.remove(view["id"])
        if session.json:
            session.screen.json({"removed": view["name"], "id": view["id"]})
        else:
            session.screen.say("rm.done", name=view["name"])


def _confirm(session: Session, given: str, view: Mapping[str, Any]) -> None:
    """A full name or id is an answer already; the beginning of one is asked about."""
    if given in (view["name"], view["id"]):
        return
    if not session.screen.asks:
        raise Refused(
            say("rm.unsure", given=repr(given), name=view["name"]),
            hint=say("rm.unsure.hint", name=view["name"]),
        )
    click.confirm(say("rm.ask", name=view["name"]), abort=True, err=True)
