"""danlu submit: hand over a job that is written down in a TOML file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from danlu.cli import preset
from danlu.cli.code import is_uri
from danlu.cli.compose import compose
from danlu.cli.fields import CODES, ENTRIES
from danlu.cli.jobfile import load
from danlu.cli.options import Command
from danlu.cli.request import given, secrets, with_places
from danlu.cli.session import Session
from danlu.cli.submission import Submission, accepted, show_plan, steps, submit
from danlu.errors import Refused
from danlu.words import say


@click.command("submit", cls=Command)
@click.argument("file", type=click.Path())
@click.option("--name", default="", help="The job's name, instead of the file's.")
@click.option("--max-steps", type=int, metavar="N", help="End training after N steps.")
@click.option("--rehearse", is_flag=True, help="The same with 3 steps: does it run to its end?")
@click.option("--client-token", metavar="TEXT", help="A repeat with the same text starts nothing.")
@click.option("--dry-run", is_flag=True, help="Show what would run, and start nothing.")
@click.option("-f", "--follow", is_flag=True, help="Follow the log until the job ends.")
@click.option("-q", "--quiet", is_flag=True, help="Print the job's id and nothing else.")
@click.pass_obj
def command(
    session: Session,
    file: str,
    name: str,
    max_steps: int | None,
    rehearse: bool,
    client_token: str | None,
    dry_run: bool,
    follow: bool,
    quiet: bool,
) -> int:
    """Submit the job described in FILE (TOML). Paths in it are relative to it.

    \b
    dialect = "modelarts"
    code = "code/"
    boot_file = "train.py"
    data_url = "obs://bucket/mnist"
    train_url = "out/"
    [parameters]
    max_steps = 1000
    """
    instead = given(name=name, max_steps=steps(session, max_steps, rehearse))
    submission = _submission(session, Path(file), instead, client_token)
    if dry_run:
        return show_plan(session, submission)
    return accepted(session, submit(session, submission), detach=not follow, quiet=quiet)


def _submission(
    session: Session, file: Path, instead: Mapping[str, Any], token: str | None
) -> Submission:
    job = {**load(file), **instead}
    names = job.pop("secrets", [])
    if not isinstance(names, list) or not all(isinstance(item, str) for item in names):
        raise Refused(say("file.secrets", path=str(file), value=repr(names)))
    for field in (*ENTRIES, "dialect"):
        if not isinstance(job.get(field, ""), str):
            value = repr(job[field])
            raise Refused(say("file.not_text", path=str(file), field=field, value=value))
    values = secrets(names, session.env)
    code_field = next((field for field in CODES if field in job), "")
    if not code_field and "preset" in job:
        return Submission(preset.compose(job, file.parent.absolute()), None, values, token)
    if not code_field:  # an algorithm has its own
        return Submission(with_places(job, file.parent.absolute()), None, values, token)
    path = job.pop(code_field)
    where = path if is_uri(path) else str(file.parent / path)
    request, code = compose(session, where, job, file.parent.absolute())
    return Submission(request, code, values, token)
