"""danlu run: submit and follow."""

import shlex
from typing import Any

import click

from danlu.cli import preset
from danlu.cli.compose import compose
from danlu.cli.options import Command, pairs
from danlu.cli.request import given, secrets, with_places
from danlu.cli.session import Session
from danlu.cli.submission import Submission, accepted, show_plan, steps, submit
from danlu.errors import Refused
from danlu.words import say

_WORDS = "danlu.cli.words"


class Run(Command):
    """Keeps the words after ``--``, and tells a person who gives us flags where they belong."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ours = args[: args.index("--")] if "--" in args else args
        ctx.meta[_WORDS] = args[len(ours) + 1 :]
        try:
            return super().parse_args(ctx, ours)
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
@click.option("--preset", default="", metavar="NAME", help="A preset model, instead of PATH.")
@click.option("--dialect", default="", help="The service the script was written for.")
@click.option("--boot-file", default="", help="The file to start, inside a code directory.")
@click.option("--module", default="", help="KDL: the module to run, e.g. trainer.task.")
@click.option("--entry-point", default="", help="TI: the file to start.")
@click.option("--data-url", default="", help="Where the data is: a URI or a local path.")
@click.option("--train-url", default="", help="Where outputs go: a URI or a local path.")
@click.option("--checkpoint-url", default="", help="A preset model: where it begins from.")
@click.option("--data", default="", help="ModelMaker: where the data is.")
@click.option("--channel", "channels", multiple=True, metavar="NAME=URI", help="TI: an input.")
@click.option("--output-path", default="", help="TI: where outputs go.")
@click.option("--input", "inputs", multiple=True, metavar="NAME=URI", help="A further input.")
@click.option("--output", "outputs", multiple=True, metavar="NAME=URI", help="A further output.")
@click.option("--urls", default="", help="Inputs and outputs to pass as URLs: names, all, none.")
@click.option("--predownload", multiple=True, metavar="NAME", help="An output to begin with.")
@click.option("--prepare", "prepare_command", default="", help="KDL: a shell command before.")
@click.option("--finish", "finish_command", default="", help="KDL: a shell command after.")
@click.option("--worker-count", type=int, help="KDL: workers beside the master.")
@click.option("--ps-count", type=int, help="KDL: parameter servers.")
@click.option(
    "-p", "--parameter", "parameters", multiple=True, metavar="K=V", help="A flag of the script."
)
@click.option("-e", "--env", multiple=True, metavar="K=V", help="A variable of the script.")
@click.option(
    "--secret", "secret_names", multiple=True, metavar="NAME", help="A variable of ours to pass on."
)
@click.option(
    "--framework-version", default="", metavar="VERSION", help="The TensorFlow it sees: 1.14, none."
)
@click.option("--max-steps", type=int, metavar="N", help="End training after N steps.")
@click.option("--rehearse", is_flag=True, help="The same with 3 steps: does it run to its end?")
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
    danlu run --preset resnet_v1_50 --data-url flowers/ --train-url out/ -p max_epoches=20
    """
    if args:
        raise Refused(
            say("run.extra_words", words=" ".join(args)), hint=say("run.extra_words.hint")
        )
    words = click.get_current_context().meta[_WORDS]
    submission = _submission(session, path, words, options)
    if dry_run:
        return show_plan(session, submission)
    return accepted(session, submit(session, submission), detach=detach)


def _submission(
    session: Session, path: str | None, words: list[str], options: dict[str, Any]
) -> Submission:
    fields = given(
        **{name: options[name] for name in _AS_GIVEN},
        inputs=pairs("--input", options["inputs"]),
        outputs=pairs("--output", options["outputs"]),
        channels=pairs("--channel", options["channels"]),
        predownload=list(options["predownload"]),
        parameters=pairs("-p", options["parameters"]),
        env=pairs("--env", options["env"]),
        job_args=shlex.join(words),
        max_steps=steps(session, options["max_steps"], options["rehearse"]),
    )
    codes = [f"PATH {path!r}"] if path else []
    codes += [f"--{name} {fields[name]}" for name in ("algorithm", "preset") if name in fields]
    if len(codes) > 1:
        both = {"one": codes[0], "other": codes[1]}
        raise Refused(say("run.two_codes", **both), hint=say("run.two_codes.hint"))
    if not codes:
        raise Refused(say("run.no_code"), hint=say("run.no_code.hint"))
    values, token = secrets(options["secret_names"], session.env), options["client_token"]
    if "preset" in fields:
        return Submission(preset.compose(fields), None, values, token)
    if not path:  # an algorithm has its own code
        return Submission(with_places(fields), None, values, token)
    request, code = compose(session, path, fields)
    return Submission(request, code, values, token)


_AS_GIVEN = (
    "algorithm", "preset", "dialect", "boot_file", "module", "entry_point", "data_url",
    "train_url", "checkpoint_url", "data", "output_path", "urls", "prepare_command",
    "finish_command", "worker_count", "ps_count", "framework_version", "nodes", "gpus", "cpus",
    "memory", "flavor", "name", "retries", "priority", "timeout",
)  # fmt: skip
