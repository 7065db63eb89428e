"""danlu stop: ask jobs to end."""

import click

from danlu.cli.options import Command, job_argument
from danlu.cli.phases import is_final
from danlu.cli.render_job import state_word
from danlu.cli.session import Session


@click.command("stop", cls=Command)
@job_argument(required=True, several=True)
@click.option("--grace", type=float, metavar="SECONDS", help="Time to end by itself.")
@click.option("-w", "--wait", is_flag=True, help="Wait until it has ended.")
@click.pass_obj
def command(session: Session, jobs: tuple[str, ...], grace: float | None, wait: bool) -> None:
    """Stop each JOB. Outputs written so far are kept."""
    for job in jobs:
        view = session.client.stop(job, grace)
        if wait:
            view = session.client.wait(view["id"])
        if session.json:
            session.screen.json(view)
        elif is_final(view):
            session.screen.say("stop.ended", name=view["name"], state=state_word(view["state"]))
        else:
            session.screen.say("stop.asked", name=view["name"])
