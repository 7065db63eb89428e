"""danlu show: everything about one job."""

import time

import click

from danlu.cli import render_curves, render_job, render_translation
from danlu.cli.options import Command, job_argument, reference
from danlu.cli.session import Session
from danlu.errors import Refused


@click.command("show", cls=Command)
@job_argument()
@click.option("--curves", is_flag=True, help="The numbers it has written as summaries.")
@click.option("--translation", is_flag=True, help="What its old code needed to run here.")
@click.pass_obj
def command(session: Session, job: str | None, curves: bool, translation: bool) -> None:
    """Show state, cause, phases, tasks and fields of JOB (the latest one, if left out)."""
    if curves and translation:
        raise Refused("--curves and --translation show different things: give one of them.")
    if curves:
        _show_curves(session, reference(session, job))
        return
    if translation:
        _show_translation(session, reference(session, job))
        return
    view = session.client.job(reference(session, job))
    if session.json:
        session.screen.json(view)
    else:
        session.screen.data("\n".join(render_job.job(view, time.time(), session.screen.paint)))


def _show_curves(session: Session, job: str) -> None:
    view = session.client.curves(job)
    if session.json:
        session.screen.json(view)
    else:
        session.screen.data("\n".join(render_curves.report(view, session.screen.paint)))


def _show_translation(session: Session, job: str) -> None:
    view = session.client.translation(job)
    if session.json:
        session.screen.json(view)
    else:
        session.screen.data("\n".join(render_translation.report(view, session.screen.paint)))
