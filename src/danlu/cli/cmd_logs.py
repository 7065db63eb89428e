"""danlu logs: what the tasks of a job wrote."""

import time
from collections.abc import Mapping
from typing import Any

import click

from danlu.cli.follow import follow, has_several, with_task
from danlu.cli.options import Command, job_argument, reference
from danlu.cli.phases import is_final
from danlu.cli.session import Session
from danlu.errors import JobFailed, Refused
from danlu.words import say

_EVERY = 0.5


@click.command("logs", cls=Command)
@job_argument()
@click.option("-f", "--follow", "follows", is_flag=True, help="Go on until the job ends.")
@click.option("-t", "--task", "tasks", multiple=True, metavar="NAME", help="Of this task only.")
@click.option("--attempt", type=click.IntRange(1), help="Of an earlier attempt.")
@click.option("--tail", type=click.IntRange(0), metavar="N", help="The last N lines only.")
@click.option("--raw", is_flag=True, help="The bytes of one task, as they are.")
@click.pass_obj
def command(
    session: Session,
    job: str | None,
    follows: bool,
    tasks: tuple[str, ...],
    attempt: int | None,
    tail: int | None,
    raw: bool,
) -> int:
    """Print the log of JOB (the latest one, if left out)."""
    view = session.client.job(reference(session, job))
    if raw:
        return _raw(session, view, tasks, attempt, follows)
    if follows:
        code = follow(session, view, tasks=tasks, attempt=attempt, tail=tail)
        # Reading a log to its end went well, whatever became of the job.
        return 0 if code == JobFailed.exit_code else code
    _print(session, view, {"tasks": tasks, "attempt": attempt}, tail)
    return 0


def _print(
    session: Session, view: Mapping[str, Any], selection: dict[str, Any], tail: int | None
) -> None:
    several = has_several(view)
    page = session.client.lines(view["id"], tail=tail, **selection)
    while page.lines:
        for line in page.lines:
            _line(session, line.task, line.text, several)
        page = session.client.lines(view["id"], cursor=page.cursor, **selection)
    for task, text in page.partial.items():
        if text:
            _line(session, task, text, several)


def _line(session: Session, task: str, text: str, several: bool) -> None:
    if session.json:
        session.screen.json({"task": task, "text": text})
    else:
        session.screen.data(with_task(session, task, text) if several else text)


def _raw(
    session: Session,
    view: Mapping[str, Any],
    tasks: tuple[str, ...],
    attempt: int | None,
    follows: bool,
) -> int:
    known = [f"{t['place']['role']}-{t['place']['index']}" for t in view["plan"]]
    chosen = list(tasks) or known
    if len(chosen) > 1:
        raise Refused(say("logs.raw_one"), hint=say("logs.raw_one.hint", tasks=", ".join(known)))
    offset = 0
    while chosen:
        ended = is_final(session.client.job(view["id"])) if follows else True
        while True:
            chunk = session.client.raw_log(view["id"], chosen[0], attempt=attempt, offset=offset)
            if not chunk.data:
                break
            session.screen.raw(chunk.data)
            offset = chunk.next
        if ended:
            break
        time.sleep(_EVERY)
    return 0
