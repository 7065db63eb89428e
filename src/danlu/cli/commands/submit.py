"""The commands ``danlu submit`` (a job from a TOML file) and ``danlu rerun``."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from danlu.cli import options
from danlu.cli import request as preset
from danlu.cli.code import Code, digest, is_uri, place, read_code, send
from danlu.cli.options import CliCommand, job_argument, pairs, reference
from danlu.cli.request import (
    CODES,
    ENTRIES,
    check_apart,
    compose_request,
    entry_field,
    given,
    load,
    local_places,
    secrets,
    started,
    with_places,
)
from danlu.cli.session import Session
from danlu.cli.submit import Submission, accepted, print_notes, shortened, show_plan, submit
from danlu.errors import DanluError, Refused
from danlu.messages import get_message


@click.command("submit", cls=CliCommand)
@click.argument("file", type=click.Path())
@click.option("--name", default="", help="option.submit_name")
@click.option("--max-steps", type=int, metavar="N", help="option.max_steps")
@click.option("--rehearse", is_flag=True, help="option.rehearse")
@click.option("--client-token", metavar="TEXT", help="option.client_token")
@click.option("--dry-run", is_flag=True, help="option.dry_run")
@click.option("-f", "--follow", is_flag=True, help="option.follow_job")
@click.option("-q", "--quiet", is_flag=True, help="option.only_id")
@click.pass_obj
def submit_command(
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
    instead = given(name=name, **shortened(session, max_steps, rehearse))
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
        raise Refused(get_message("file.secrets", path=str(file), value=repr(names)))
    for field in (*ENTRIES, "dialect"):
        if not isinstance(job.get(field, ""), str):
            value = repr(job[field])
            raise Refused(get_message("file.not_text", path=str(file), field=field, value=value))
    values = secrets(names, session.env)
    code_field = next((field for field in CODES if field in job), "")
    if not code_field and "preset" in job:
        return Submission(preset.compose_preset(job, file.parent.absolute()), None, values, token)
    if not code_field:  # an algorithm contains its code
        return Submission(with_places(job, file.parent.absolute()), None, values, token)
    path = job.pop(code_field)
    where = path if is_uri(path) else str(file.parent / path)
    request, code = compose_request(session, where, job, file.parent.absolute())
    return Submission(request, code, values, token)


_UPLOADED = "danlu://code/"


def is_changed(session: Session, view: Mapping[str, Any]) -> bool:
    """Return True if the code of a job is on this machine and differs from what the job ran."""
    request = view["request"]
    path = str(request.get("code_path") or "")
    if not path or not Path(path).exists():
        return False
    try:
        found = digest(session, _code(view), local_places(request))
    except (DanluError, OSError):
        return False  # it cannot be packed now; the new job uses the stored code
    return str(request.get("code")) != f"{_UPLOADED}{found}.tar.gz"


def packed_anew(session: Session, view: Mapping[str, Any]) -> dict[str, Any]:
    """Upload the current code of a job, and return the fields that change.

    Raises:
        Refused: the code is not on this machine.
    """
    request, name = view["request"], view["name"]
    path = str(request.get("code_path") or "")
    if not path:
        uri = str(request.get("code") or "")
        remote = uri and not uri.startswith(_UPLOADED)
        reason = "rerun.fresh_remote" if remote else "rerun.fresh_unknown"
        raise Refused(get_message(reason, name=name, uri=uri))
    if not Path(path).exists():
        raise Refused(get_message("rerun.fresh_gone", name=name, path=path))
    uri, _ = send(session, _code(view), local_places(request))
    return {"code": uri}


def _code(view: Mapping[str, Any]) -> Code:
    dialect = view["spec"]["dialect"]
    code = place(view["request"]["code_path"])
    return started(
        code, read_code(code), str(view["request"].get(entry_field(dialect), "")), dialect
    )


_OUTPUTS = ("train_url", "output_path", "outputs")


@click.command("rerun", cls=CliCommand)
@job_argument()
@click.option(
    "-p", "--parameter", "parameters", multiple=True, metavar="K=V", help="option.rerun_parameter"
)
@click.option("--name", default="", help="option.rerun_name")
@click.option("--train-url", default="", help="option.rerun_train_url")
@click.option("--data-url", default="", help="option.rerun_data_url")
@click.option("--data", default="", help="option.rerun_data")
@click.option("--output-path", default="", help="option.rerun_output_path")
@click.option("--channel", "channels", multiple=True, metavar="NAME=URI", help="option.channel")
@click.option("--input", "inputs", multiple=True, metavar="NAME=URI", help="option.rerun_input")
@click.option("--output", "outputs", multiple=True, metavar="NAME=URI", help="option.rerun_output")
@click.option("--same-output", is_flag=True, help="option.same_output")
@click.option("--fresh-code", is_flag=True, help="option.fresh_code")
@click.option("--secret", "secret_names", multiple=True, metavar="NAME", help="option.secret")
@click.option("--client-token", metavar="TEXT", help="option.client_token")
@click.option("-d", "--detach", is_flag=True, help="option.detach")
@click.pass_obj
def rerun_command(
    session: Session,
    /,
    job: str | None,
    parameters: tuple[str, ...],
    same_output: bool,
    fresh_code: bool,
    secret_names: tuple[str, ...],
    client_token: str | None,
    detach: bool,
    **fields: Any,
) -> int:
    """Run JOB again as a new job, and follow it. It writes beside JOB, not over it."""
    for name in ("channels", "inputs", "outputs"):
        fields[name] = pairs(f"--{name[:-1]}", fields[name])
    changes = with_places(given(**fields))
    if same_output and any(name in changes for name in _OUTPUTS):
        raise Refused(get_message("rerun.two_outputs"))
    old = session.client.job(reference(session, job))
    if code_path := old["request"].get("code_path"):
        check_apart(changes, Path(code_path))
    if fresh_code:
        changes |= packed_anew(session, old)
    elif not session.json and is_changed(session, old):
        path = old["request"]["code_path"]
        session.screen.print_message("rerun.code_changed", path=path, name=old["name"])
    view = session.client.rerun(
        old["id"],
        options.parameters(parameters),
        token=client_token,
        secrets=secrets(secret_names, session.env),
        changes=changes,
        same_output=same_output,
    )
    print_notes(session, view)
    return accepted(session, view, detach=detach)
