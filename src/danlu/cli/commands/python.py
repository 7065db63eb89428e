"""The command ``danlu python``: run code on the runtime of a job, in this terminal."""

import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from danlu.agent.script.environment import STARTUP
from danlu.cli.commands import check
from danlu.cli.commands.check import VersionChoice
from danlu.cli.options import CliCommand
from danlu.cli.session import Session
from danlu.errors import Refused
from danlu.job.spec import TENSORFLOW_1
from danlu.messages import VARIABLE, get_message, language
from danlu.usercode import tensorflow_version

_WORDS = "danlu.cli.python_words"
FOREGROUND = STARTUP.parent / "foreground.py"
# Options of Python that do not disable the start-up folder in PYTHONPATH; two take a value.
_FLAG = re.compile(r"-[bBdiOquvV]+")
_WITH_VALUE = ("-W", "-X")
_OURS = ("--framework-version", "--lang", "--color", "--server")  # ours, with a value


class Python(CliCommand):
    """A command that parses options up to the target. The rest belongs to the script."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ours, theirs = _split(args)
        ctx.meta[_WORDS] = theirs
        return super().parse_args(ctx, ours)


def _split(args: Sequence[str]) -> tuple[list[str], list[str]]:
    at, ours, flags = 0, list[str](), list[str]()
    while at < len(args):
        word = args[at]
        width = 2 if word in (*_OURS, *_WITH_VALUE) else 1
        if word == "--":
            return ours, [*flags, *args[at + 1 :]]
        if _FLAG.fullmatch(word) or word.startswith(_WITH_VALUE):
            flags += args[at : at + width]
        elif word.startswith("--") or word == "-h":
            ours += args[at : at + width]
        else:
            break
        at += width
    return ours, [*flags, *args[at:]]


@dataclass(frozen=True)
class Program:
    """The program to run.

    ``kind`` is 'file', 'module', 'code' or 'other' (a prompt, standard input or a folder).
    """

    flags: tuple[str, ...]
    kind: str
    words: tuple[str, ...]

    @property
    def argv(self) -> list[str]:
        # For other kinds, Python starts the program itself; the start-up folder is enough.
        start = [str(FOREGROUND)] if self.kind in ("file", "module") else []
        return [sys.executable, *self.flags, *start, *self.words]


@click.command("python", cls=Python)
@click.option("--framework-version", default="", metavar="VERSION", help="option.framework_version")
@click.pass_obj
def python_command(session: Session, framework_version: str) -> None:
    """Run a script, a module (-m) or code (-c) on the runtime of a job, as `python` would.

    \b
    danlu python train.py --max_steps 100
    danlu python -m trainer.task --max_epochs 3
    """
    target = read(click.get_current_context().meta[_WORDS])
    chosen = choose(framework_version or session.env.get("DANLU_TENSORFLOW", ""), target)
    # execve() discards unflushed output.
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(sys.executable, target.argv, environment(session.env, target, chosen))


def read(words: Sequence[str]) -> Program:
    """Parse the arguments of Python.

    Raises:
        Refused: the file does not exist, or nothing follows -m or -c.
    """
    at = 0
    while at < len(words) and (_FLAG.fullmatch(words[at]) or words[at].startswith(_WITH_VALUE)):
        at += 2 if words[at] in _WITH_VALUE else 1
    flags, rest = tuple(words[:at]), tuple(words[at:])
    if not rest or rest[0] == "-":
        return Program(flags, "other", rest)
    if rest[0] in ("-m", "-c"):
        if len(rest) == 1:
            raise Refused(get_message("python.nothing_after", option=rest[0]))
        return Program(flags, "module" if rest[0] == "-m" else "code", rest)
    if not os.path.exists(rest[0]):
        raise Refused(get_message("code.not_there", path=repr(rest[0])))
    return Program(flags, "file" if os.path.isfile(rest[0]) else "other", rest)


def choose(given: str, target: Program) -> VersionChoice:
    """Return the TensorFlow version for the target: ``given``, or else detected in its code.

    Without a request and without code the version is TensorFlow 1, for trying out old code.
    """
    chosen = check.asked(given)
    if chosen is not None:
        return chosen
    if target.kind == "file":
        return check.of_file(Path(target.words[0]))
    if target.kind == "other":
        return VersionChoice(TENSORFLOW_1, "")
    if target.kind == "module":
        return check.of_entry(target.words[1], Path.cwd())
    code = {"<string>": target.words[1]}
    return check.version_choice(
        tensorflow_version.decide(code) or tensorflow_version.DetectedVersion()
    )


def environment(own: Mapping[str, str], target: Program, chosen: VersionChoice) -> dict[str, str]:
    """Return the environment ``own`` with the variables that activate the runtime."""
    folder = Path(target.words[0]).parent if target.kind == "file" else Path()
    made = {
        **own,
        "PYTHONPATH": ":".join(filter(None, [str(STARTUP), own.get("PYTHONPATH", "")])),
        # Programs that the script starts by name ("python eval.py") use the same environment.
        "PATH": ":".join(filter(None, [os.path.dirname(sys.executable), own.get("PATH", "")])),
        "DANLU_CODE": own.get("DANLU_CODE") or str(folder.absolute()),
        "DANLU_TENSORFLOW": chosen.version,
        VARIABLE: language(),
    }
    return {name: value for name, value in made.items() if value}
