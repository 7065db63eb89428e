"""danlu python: the runtime of a job without a job, in this terminal."""

import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from danlu.agent.environment import STARTUP
from danlu.cli import version_choice
from danlu.cli.options import Command
from danlu.cli.session import Session
from danlu.cli.version_choice import Choice
from danlu.errors import Refused
from danlu.job.framework import TENSORFLOW_1
from danlu.service import versions
from danlu.words import say

_WORDS = "danlu.cli.python_words"
_FOREGROUND = STARTUP.parent / "foreground.py"
# Of Python's own options those that leave our start-up folder in force; two have a value.
_FLAG = re.compile(r"-[bBdiOquvV]+")
_WITH_VALUE = ("-W", "-X")
_OURS = ("--framework-version", "--lang", "--color", "--server")  # likewise


class Python(Command):
    """Reads our options up to the target; everything from there on is the script's own."""

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
class Target:
    """``kind`` is 'file', 'module', 'code' or 'other': a prompt, standard input, a folder."""

    flags: tuple[str, ...]
    kind: str
    words: tuple[str, ...]

    @property
    def argv(self) -> list[str]:
        # What Python reads itself it may as well run itself: the start-up folder is enough.
        start = [str(_FOREGROUND)] if self.kind in ("file", "module") else []
        return [sys.executable, *self.flags, *start, *self.words]


@click.command("python", cls=Python)
@click.option(
    "--framework-version", default="", metavar="VERSION", help="The TensorFlow it sees: 1.14, none."
)
@click.pass_obj
def command(session: Session, framework_version: str) -> None:
    """Run a script, a module (-m) or code (-c) on the runtime of a job, as `python` would.

    \b
    danlu python train.py --max_steps 100
    danlu python -m trainer.task --max_epochs 3
    """
    target = read(click.get_current_context().meta[_WORDS])
    chosen = choose(framework_version or session.env.get("DANLU_TENSORFLOW", ""), target)
    # What was printed so far must not be lost with this process.
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(sys.executable, target.argv, environment(session.env, target, chosen))


def read(words: Sequence[str]) -> Target:
    """Understand what Python is given.

    Raises:
        Refused: there is no such file, or nothing after -m or -c.
    """
    at = 0
    while at < len(words) and (_FLAG.fullmatch(words[at]) or words[at].startswith(_WITH_VALUE)):
        at += 2 if words[at] in _WITH_VALUE else 1
    flags, rest = tuple(words[:at]), tuple(words[at:])
    if not rest or rest[0] == "-":
        return Target(flags, "other", rest)
    if rest[0] in ("-m", "-c"):
        if len(rest) == 1:
            raise Refused(say("python.nothing_after", option=rest[0]))
        return Target(flags, "module" if rest[0] == "-m" else "code", rest)
    if not os.path.exists(rest[0]):
        raise Refused(say("code.not_there", path=repr(rest[0])))
    return Target(flags, "file" if os.path.isfile(rest[0]) else "other", rest)


def choose(given: str, target: Target) -> Choice:
    """Return the TensorFlow the target sees: the one asked for, else by its code.

    Who asks for nothing and has no code to look at wants to try things of old.
    """
    chosen = version_choice.asked(given)
    if chosen is not None:
        return chosen
    if target.kind == "file":
        return version_choice.of_file(Path(target.words[0]))
    if target.kind == "other":
        return Choice(TENSORFLOW_1, "")
    if target.kind == "module":
        return version_choice.of_entry(target.words[1], Path.cwd())
    code = {"<string>": target.words[1]}
    return version_choice.told(versions.decide(code) or versions.Found())


def environment(own: Mapping[str, str], target: Target, chosen: Choice) -> dict[str, str]:
    """Return the shell's environment with what makes the runtime."""
    folder = Path(target.words[0]).parent if target.kind == "file" else Path()
    made = {
        **own,
        "PYTHONPATH": ":".join(filter(None, [str(STARTUP), own.get("PYTHONPATH", "")])),
        # What the script starts by name ("python eval.py") is of the same environment.
        "PATH": ":".join(filter(None, [os.path.dirname(sys.executable), own.get("PATH", "")])),
        "DANLU_CODE": own.get("DANLU_CODE") or str(folder.absolute()),
        "DANLU_TENSORFLOW": chosen.version,
    }
    return {name: value for name, value in made.items() if value}
