"""danlu show: everything about one job."""

import time

import click

from danlu.cli import render_job
from danlu.cli.options import Command, job_argument, reference
from danlu.cli.session import Session


@click.command("show", cls=Command)
@job_argument()
@click.pass_obj
def command(session: Session, job: str | None) -> None:
    """Show state, cause, phases, tasks and fields of JOB (the latest one, if left out)."""
    view = session.client.job(reference(session, job))
    if session.json:
        session.screen.json(view)
    else:
        session.screen.data("\n".join(render_job.job(view, time.time(), session.screen.paint)))
