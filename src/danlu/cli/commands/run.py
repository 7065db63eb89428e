"""The command ``danlu run``: submit a job and follow it."""

import shlex
from typing import Any

import click

from danlu.cli import request as preset
from danlu.cli.options import CliCommand
from danlu.cli.request import (
    compose_request,
    given,
    job_fields,
    job_options,
    secrets,
    with_places,
)
from danlu.cli.session import Session
from danlu.cli.submit import Submission, accepted, shortened, show_plan, submit
from danlu.errors import Refused
from danlu.messages import get_message

_WORDS = "danlu.cli.words"


class Run(CliCommand):
    """A command that keeps the arguments after ``--`` for the script.

    An unknown option raises Refused with a hint on how to pass it to the script.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ours = args[: args.index("--")] if "--" in args else args
        ctx.meta[_WORDS] = args[len(ours) + 1 :]
        try:
            return super().parse_args(ctx, ours)
        except click.NoSuchOption as error:
            name = error.option_name.lstrip("-")
            raise Refused(
                error.format_message(), hint=get_message("run.parameter_hint", name=name)
            ) from None


@click.command("run", cls=Run)
@click.argument("path", type=click.Path(), required=False)
@click.argument("args", nargs=-1, type=click.UNPROCESSED, metavar="")
@job_options
@click.option("--client-token", metavar="TEXT", help="option.client_token")
@click.option("--dry-run", is_flag=True, help="option.dry_run")
@click.option("-d", "--detach", is_flag=True, help="option.detach")
@click.pass_obj
def run_command(
    session: Session,
    /,
    path: str | None,
    args: tuple[str, ...],
    detach: bool,
    dry_run: bool,
    **options: Any,
) -> int:
    """Run the script or code directory PATH and follow its log.

    \b
    danlu run train.py --data-url data/ --train-url out/ -p max_steps=1000
    danlu run code/ --boot-file train.py --data-url obs://bucket/mnist --train-url obs://bucket/out
    danlu run --algorithm mnist --data-url dataset://digits -p max_steps=1000
    danlu run --preset resnet_v1_50 --data-url flowers/ --train-url out/ -p max_epoches=20
    """
    if args:
        raise Refused(
            get_message("run.extra_words", words=" ".join(args)),
            hint=get_message("run.extra_words.hint"),
        )
    words = click.get_current_context().meta[_WORDS]
    submission = _submission(session, path, words, options)
    if dry_run:
        return show_plan(session, submission)
    return accepted(session, submit(session, submission), detach=detach)


def _submission(
    session: Session, path: str | None, words: list[str], options: dict[str, Any]
) -> Submission:
    fields = job_fields(options)
    secret_names = fields.pop("secrets")
    steps, rehearse = fields.pop("max_steps"), fields.pop("rehearse")
    fields = given(**fields, job_args=shlex.join(words), **shortened(session, steps, rehearse))
    codes = [f"PATH {path!r}"] if path else []
    codes += [f"--{name} {fields[name]}" for name in ("algorithm", "preset") if name in fields]
    if len(codes) > 1:
        both = {"one": codes[0], "other": codes[1]}
        raise Refused(get_message("run.two_codes", **both), hint=get_message("run.two_codes.hint"))
    if not codes:
        raise Refused(get_message("run.no_code"), hint=get_message("run.no_code.hint"))
    values, token = secrets(secret_names, session.env), options["client_token"]
    if "preset" in fields:
        return Submission(preset.compose_preset(fields), None, values, token)
    if not path:  # an algorithm contains its code
        return Submission(with_places(fields), None, values, token)
    request, code = compose_request(session, path, fields)
    return Submission(request, code, values, token)
