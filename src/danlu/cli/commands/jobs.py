"""The commands on jobs: ``danlu ls``, ``show``, ``logs``, ``stop``, ``rm`` and ``wait``."""

import time
from collections.abc import Mapping
from typing import Any

import click

from danlu.cli import show
from danlu.cli.follow import follow, print_result, time_taken, with_task
from danlu.cli.options import CliCommand, job_argument, reference
from danlu.cli.session import Session
from danlu.cli.show import STYLES, state_word
from danlu.cli.text import table
from danlu.errors import JobFailed, OnlyCopy, Refused, WaitTimedOut
from danlu.job.describe import cause_of, has_several, is_final, steps_text, still_text
from danlu.messages import get_message
from danlu.messages.text import age

STATES = ("queued", "starting", "running", "stopping", "succeeded", "failed", "stopped")


@click.command("ls", cls=CliCommand)
@click.option(
    "-s", "--state", "states", multiple=True, type=click.Choice(STATES), help="option.state"
)
@click.option("-n", "--name", default="", metavar="TEXT", help="option.name_text")
@click.option(
    "--limit", type=click.IntRange(1, 500), default=20, show_default=True, help="option.limit"
)
@click.option("--before", default="", metavar="ID", help="option.before")
@click.option("-q", "--quiet", is_flag=True, help="option.quiet")
@click.pass_obj
def ls_command(
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
        session.screen.print_message("ls.nothing" if states or name or before else "ls.none")
    if page["next"]:
        session.screen.print_message("ls.more", id=page["next"])


def _state(job: Mapping[str, Any]) -> str:
    """Return the state as text, marked if the training was cut short on request."""
    word, shortened = state_word(job["state"]), job.get("shortened")
    if not shortened:
        return word
    return get_message("ls.rehearsal" if shortened["rehearsal"] else "ls.shortened", state=word)


def _show(session: Session, jobs: list[Mapping[str, Any]]) -> None:
    now = time.time()
    head = [
        get_message(f"ls.{name}")
        for name in ("name", "state", "dialect", "created", "time", "cause")
    ]
    rows = [[session.screen.paint(title, "bold") for title in head]]
    for job in jobs:
        rows.append(
            [
                job["name"],
                session.screen.paint(_state(job), STYLES[job["state"]]),
                job["spec"]["dialect"],
                age(job["created"], now),
                time_taken(job),
                cause_of(job) or still_text(job, now) or ("" if is_final(job) else steps_text(job)),
            ]
        )
    session.screen.data("\n".join(table(rows, session.screen.columns)))


@click.command("show", cls=CliCommand)
@job_argument()
@click.option("--curves", is_flag=True, help="option.curves")
@click.option("--translation", is_flag=True, help="option.translation")
@click.pass_obj
def show_command(session: Session, job: str | None, curves: bool, translation: bool) -> None:
    """Show state, cause, phases, tasks and fields of JOB (the latest one, if left out)."""
    if curves and translation:
        raise Refused.from_key("show.one_view")
    if curves:
        _show_curves(session, reference(session, job))
        return
    if translation:
        _show_translation(session, reference(session, job))
        return
    view = session.client.job(reference(session, job))
    kept = session.client.kept(view["id"]) if is_final(view) else {"kept": None, "removed": 0}
    if session.json:
        session.screen.json({**view, "kept": kept["kept"], "kept_removed": kept["removed"]})
        return
    lines = show.job(view, time.time(), session.screen.paint)
    lines += show.kept(view, kept, session.screen.paint)
    session.screen.data("\n".join(lines))


def _show_curves(session: Session, job: str) -> None:
    view = session.client.curves(job)
    if session.json:
        session.screen.json(view)
    else:
        session.screen.data("\n".join(show.curves_report(view, session.screen.paint)))


def _show_translation(session: Session, job: str) -> None:
    view = session.client.translation(job)
    if session.json:
        session.screen.json(view)
    else:
        session.screen.data("\n".join(show.translation_report(view, session.screen.paint)))


_INTERVAL = 0.5


@click.command("logs", cls=CliCommand)
@job_argument()
@click.option("-f", "--follow", "follows", is_flag=True, help="option.follow")
@click.option("-t", "--task", "tasks", multiple=True, metavar="NAME", help="option.task")
@click.option("--attempt", type=click.IntRange(1), help="option.attempt")
@click.option("--tail", type=click.IntRange(0), metavar="N", help="option.tail")
@click.option("--raw", is_flag=True, help="option.raw")
@click.pass_obj
def logs_command(
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
        # The log was read to its end, so the command succeeded even if the job failed.
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
        raise Refused(
            get_message("logs.raw_one"),
            hint=get_message("logs.raw_one.hint", tasks=", ".join(known)),
        )
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
        time.sleep(_INTERVAL)
    return 0


@click.command("stop", cls=CliCommand)
@job_argument(required=True, several=True)
@click.option("--grace", type=float, metavar="SECONDS", help="option.grace")
@click.option("-w", "--wait", is_flag=True, help="option.wait")
@click.pass_obj
def stop_command(session: Session, jobs: tuple[str, ...], grace: float | None, wait: bool) -> None:
    """Stop each JOB. Outputs written so far are kept."""
    for job in jobs:
        view = session.client.stop(job, grace)
        if wait:
            view = session.client.wait(view["id"])
        if session.json:
            session.screen.json(view)
        elif is_final(view):
            session.screen.print_message(
                "stop.ended", name=view["name"], state=state_word(view["state"])
            )
        else:
            session.screen.print_message("stop.asked", name=view["name"])


@click.command("rm", cls=CliCommand)
@job_argument(required=True, several=True)
@click.option("-y", "--yes", is_flag=True, help="option.yes")
@click.option("--force", is_flag=True, help="option.force")
@click.pass_obj
def rm_command(session: Session, jobs: tuple[str, ...], yes: bool, force: bool) -> None:
    """Remove each ended JOB with its log. Its outputs stay where they are.

    Asks before it removes outputs that could not be stored, or a model in the working directory.
    """
    for job in jobs:
        view = session.client.job(job)
        if not yes:
            _confirm(session, job, view)
        _remove(session, view, force=force, yes=yes)
        if session.json:
            session.screen.json({"removed": view["name"], "id": view["id"]})
        else:
            session.screen.print_message("rm.done", name=view["name"])


def _remove(session: Session, view: Mapping[str, Any], *, force: bool, yes: bool) -> None:
    """Remove a job.

    The server refuses if its files are the only copy. ``force`` or the confirmation of the user
    overrides this.
    """
    try:
        session.client.remove(view["id"], discard=force)
    except OnlyCopy as error:
        if yes or not session.screen.asks:
            raise
        session.screen.note(error.message)
        click.confirm(get_message("rm.ask_only_copy", name=view["name"]), abort=True, err=True)
        session.client.remove(view["id"], discard=True)


def _confirm(session: Session, given: str, view: Mapping[str, Any]) -> None:
    """Ask the user for confirmation if ``given`` is only a prefix of a name or id."""
    if given in (view["name"], view["id"]):
        return
    if not session.screen.asks:
        raise Refused(
            get_message("rm.unsure", given=repr(given), name=view["name"]),
            hint=get_message("rm.unsure.hint", name=view["name"]),
        )
    click.confirm(get_message("rm.ask", name=view["name"]), abort=True, err=True)


@click.command("wait", cls=CliCommand)
@job_argument()
@click.option("--timeout", type=float, metavar="SECONDS", help="option.wait_timeout")
@click.pass_obj
def wait_command(session: Session, job: str | None, timeout: float | None) -> int:
    """Wait until JOB has ended. Exit 0 when it succeeded, 5 when it did not."""
    view = session.client.job(reference(session, job))
    try:
        view = session.client.wait(view["id"], timeout)
    except WaitTimedOut:
        view = session.client.job(view["id"])
        raise WaitTimedOut(
            get_message("wait.timed_out", name=view["name"], state=state_word(view["state"])),
            hint=get_message("wait.again", name=view["name"]),
        ) from None
    if session.json:
        session.screen.json(view)
    return print_result(session, view)
