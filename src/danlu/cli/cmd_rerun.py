"""danlu rerun: the same job again, with some parameters changed."""

import click

from danlu.cli.options import Command, job_argument, pairs, reference
from danlu.cli.request import secrets
from danlu.cli.session import Session
from danlu.cli.submission import accepted


@click.command("rerun", cls=Command)
@job_argument()
@click.option(
    "-p", "--parameter", "parameters", multiple=True, metavar="K=V", help="A flag to change."
)
@click.option(
    "--secret", "secret_names", multiple=True, metavar="NAME", help="A variable of ours to pass on."
)
@click.option("--client-token", metavar="TEXT", help="A repeat with the same text starts nothing.")
@click.option("-d", "--detach", is_flag=True, help="Do not follow.")
@click.pass_obj
def command(
    session: Session,
    job: str | None,
    parameters: tuple[str, ...],
    secret_names: tuple[str, ...],
    client_token: str | None,
    detach: bool,
) -> int:
    """Run JOB again as a new job, and follow it."""
    view = session.client.rerun(
        reference(session, job),
        pairs("-p", parameters),
        token=client_token,
        secrets=secrets(secret_names, session.env),
    )
    return accepted(session, view, detach=detach)
