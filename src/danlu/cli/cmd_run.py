"""danlu run: submit and follow."""

from typing import Any

import click

from danlu.cli.code import Code, locate
from danlu.cli.evidence import Evidence, find
from danlu.cli.options import Command, pairs
from danlu.cli.request import given, secrets, with_places
from danlu.cli.session import Session
from danlu.cli.submission import Submission, accepted, rehearse, submit
from danlu.errors import Refused, Unsupported
from danlu.words import say


class Run(Command):
    """Tells a person who gives the script's own flags to us where they belong."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            name = error.option_name.lstrip("-")
            raise Refused(
                error.format_message(), hint=say("run.parameter_hint", name=name)
            ) from None


@click.command("run", cls=Run)
@click.argument("path", type=click.Path(), required=False)
@click.argument("args", nargs=-1, type=click.UNPROCESSED, metavar="")
@click.option(
    "--algorithm", default="", metavar="NAME[:VERSION]", help="An algorithm, instead of PATH."
)
@click.option("--dialect", help="The service the script was written for.")
@click.option("--boot-file", default="", help="The file to start, inside a code directory.")
@click.option("--data-url", default="", help="Where the data is: a URI or a local path.")
@click.option("--train-url", default="", help="Where outputs go: a URI or a local path.")
@click.option("--input", "inputs", multiple=True, metavar="NAME=URI", help="A further input.")
@click.option("--output", "outputs", multiple=True, metavar="NAME=URI", help="A further output.")
@click.option(
    "-p", "--parameter", "parameters", multiple=True, metavar="K=V", help="A flag of the script."
)
@click.option("--env", multiple=True, metavar="K=V", help="A variable of the script.")
@click.option(
    "--secret", "secret_names", multiple=True, metavar="NAME", help="A variable of ours to pass on."
)
@click.option("--nodes", type=int, help="How many nodes.")
@click.option("--gpus", type=int, help="GPUs of each node.")
@click.option("--cpus", type=float, help="CPUs of each node.")
@click.option("--memory", default="", metavar="SIZE", help="Memory of each node, e.g. 8G.")
@click.option("--flavor", default="", help="A named package of resources.")
@click.option("--name", default="", help="The job's name.")
@click.option("--retries", type=int, help="Tries after a failure of the machine.")
@click.option("--priority", type=int, help="Higher goes first.")
@click.option("--timeout", type=float, metavar="SECONDS", help="The longest a script may run.")
@click.option("--client-token", metavar="TEXT", help="A repeat with the same text starts nothing.")
@click.option("--dry-run", is_flag=True, help="Show what would run, and start nothing.")
@click.option("-d", "--detach", is_flag=True, help="Do not follow.")
@click.pass_obj
def command(
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
    """
    if args:
        raise Refused(
            say("run.extra_words", words=" ".join(args)), hint=say("run.extra_words.hint")
        )
    submission = _submission(session, path, options)
    if dry_run:
        return rehearse(session, submission)
    return accepted(session, submit(session, submission), detach=detach)


def _submission(session: Session, path: str | None, options: dict[str, Any]) -> Submission:
    code = _code(path, options)
    names = options["secret_names"]
    request = with_places(
        given(
            algorithm=options["algorithm"],
            boot_file="" if code else options["boot_file"],
            dialect=_dialect(session, code, options["dialect"]) if code else options["dialect"],
            data_url=options["data_url"],
            train_url=options["train_url"],
            inputs=pairs("--input", options["inputs"]),
            outputs=pairs("--output", options["outputs"]),
            parameters=pairs("-p", options["parameters"]),
            env=pairs("--env", options["env"]),
            **{name: options[name] for name in _AS_GIVEN},
        )
    )
    return Submission(request, code, secrets(names, session.env), options["client_token"])


def _code(path: str | None, options: dict[str, Any]) -> Code | None:
    """Return the code to run; None for an algorithm, which has its own."""
    if path and options["algorithm"]:
        raise Refused(say("run.two_codes", path=repr(path)), hint=say("run.two_codes.hint"))
    if options["algorithm"]:
        return None
    if not path:
        raise Refused(say("run.no_code"), hint=say("run.no_code.hint"))
    return locate(path, options["boot_file"])


_AS_GIVEN = (
    "nodes", "gpus", "cpus", "memory", "flavor", "name", "retries", "priority", "timeout",
)  # fmt: skip


def _dialect(session: Session, code: Code, asked: str | None) -> str:
    """Return the dialect asked for, or the one the script shows signs of; say which and why."""
    if asked:
        return asked
    if code.folder is None:
        evidence = Evidence("modelarts", say("dialect.remote"))
    else:
        evidence = find(code.boot_file, code.folder)
    from danlu.dialects import BUILT_IN, PROMISED

    if evidence.dialect in PROMISED and evidence.dialect not in BUILT_IN:
        raise Unsupported(
            say("dialect.not_yet", dialect=evidence.dialect, why=evidence.why),
            hint=say("dialect.not_yet.hint", known=", ".join(BUILT_IN)),
        )
    if not session.json:
        session.screen.say("dialect.chosen", dialect=evidence.dialect, why=evidence.why)
    return evidence.dialect
