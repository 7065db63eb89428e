"""danlu ls: the jobs, newest first."""

import time
from collections.abc import Mapping
from typing import Any

import click

from danlu.cli.follow import cause_of, time_taken
from danlu.cli.layout import table
from danlu.cli.options import Command
from danlu.cli.phases import is_final
from danlu.cli.render_job import STYLES, state_word
from danlu.cli.render_steps import steps_text, still_text
from danlu.cli.session import Session
from danlu.cli.units import age
from danlu.words import say

STATES = ("queued", "starting", "running", "stopping", "succeeded", "failed", "stopped")


@click.command("ls", cls=Command)
@click.option("-s", "--state", "states", multiple=True, type=click.Choice(STATES), help="In it.")
@click.option("-n", "--name", default="", metavar="TEXT", help="With TEXT in the name.")
@click.option("--limit", type=click.IntRange(1, 500), default=20, show_default=True, help="Rows.")
@click.option("--before", default="", metavar="ID", help="Older than the job with this id.")
@click.option("-q", "--quiet", is_flag=True, help="Names only.")
@click.pass_obj
def command(
    session: Session, states: tuple[str, ...], name: str, limit: int, before: str, quiet: bool
) -> None:
    """List jobs, newest first."""
    page = session.client.jobs(states=list(states), name=name, limit=limit, before=before)
    if session.json:
        session.screen.json(page)
        return
    jobs = page["jobs"]
    if quiet:
        for job in jobs:
            session.screen.data(job["name"])
    elif jobs:
        _show(session, jobs)
    else:
        session.screen.say("ls.nothing" if states or name or before else "ls.none")
    if page["next"]:
        session.screen.say("ls.more", id=page["next"])


def _show(session: Session, jobs: list[Mapping[str, Any]]) -> None:
    now = time.time()
    head = [say(f"ls.{name}") for name in ("name", "state", "dialect", "created", "time", "cause")]
    rows = [[session.screen.paint(title, "bold") for title in head]]
    for job in jobs:
        rows.append(
            [
                job["name"],
                session.screen.paint(state_word(job["state"]), STYLES[job["state"]]),
                job["spec"]["dialect"],
                age(job["created"], now),
                time_taken(job),
                cause_of(job) or still_text(job, now) or ("" if is_final(job) else steps_text(job)),
            ]
        )
    session.screen.data("\n".join(table(rows, session.screen.columns)))
