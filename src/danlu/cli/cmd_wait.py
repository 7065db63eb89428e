"""danlu wait: come back when a job has ended."""

import click

from danlu.cli.follow import tell_end
from danlu.cli.options import Command, job_argument, reference
from danlu.cli.render_job import state_word
from danlu.cli.session import Session
from danlu.errors import WaitTimedOut
from danlu.words import say


@click.command("wait", cls=Command)
@job_argument()
@click.option("--timeout", type=float, metavar="SECONDS", help="Give up after so long (exit 6).")
@click.pass_obj
def command(session: Session, job: str | None, timeout: float | None) -> int:
    """Wait until JOB has ended. Exit 0 when it succeeded, 5 when it did not."""
    view = session.client.job(reference(session, job))
    try:
        view = session.client.wait(view["id"], timeout)
    except WaitTimedOut:
        view = session.client.job(view["id"])
        raise WaitTimedOut(
            say("wait.timed_out", name=view["name"], state=state_word(view["state"])),
            hint=say("wait.again", name=view["name"]),
        ) from None
    if session.json:
        session.screen.json(view)
    return tell_end(session, view)
