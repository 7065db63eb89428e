"""danlu show: everything about one job."""

import time

import click

from danlu.cli import render_job, render_translation
from danlu.cli.options import Command, job_argument, reference
from danlu.cli.session import Session


@click.command("show", cls=Command)
@job_argument()
@click.option("--translation", is_flag=True, help="What its old code needed to run here.")
@click.pass_obj
def command(session: Session, job: str | None, translation: bool) -> None:
    """Show state, cause, phases, tasks and fields of JOB (the latest one, if left out)."""
    if translation:
        _show_translation(session, reference(session, job))
        return
    view = session.client.job(reference(session, job))
    if session.json:
        session.screen.json(view)
    else:
        session.screen.data("\n".join(render_job.job(view, time.time(), session.screen.paint)))


def _show_translation(session: Session, job: str) -> None:
    view = session.client.translation(job)
    if session.json:
        session.screen.json(view)
    else:
        session.screen.data("\n".join(render_translation.report(view, session.screen.paint)))
