"""The command line itself: finds the command, and turns every error into a sentence.

Exit codes: 0 ok, 1 failed, 2 usage, 3 not found, 4 not allowed, 5 the job failed, 6 a wait timed
out, 130 Ctrl-C.
"""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

import click

from danlu.cli.options import Group
from danlu.cli.session import Session
from danlu.errors import Refused, suggestion
from danlu.words import say

if TYPE_CHECKING:
    from danlu.cli.session import Connect

# Add a command here; its module has a click command of the same name in ``command``.
COMMANDS = {
    "run": "danlu.cli.cmd_run",
    "submit": "danlu.cli.cmd_submit",
    "check": "danlu.cli.cmd_check",
    "python": "danlu.cli.cmd_python",
    "ls": "danlu.cli.cmd_ls",
    "show": "danlu.cli.cmd_show",
    "logs": "danlu.cli.cmd_logs",
    "stop": "danlu.cli.cmd_stop",
    "rm": "danlu.cli.cmd_rm",
    "wait": "danlu.cli.cmd_wait",
    "rerun": "danlu.cli.cmd_rerun",
    "algorithm": "danlu.cli.cmd_algorithm",
    "dataset": "danlu.cli.cmd_dataset",
    "store": "danlu.cli.cmd_store",
    "up": "danlu.cli.cmd_up",
    "down": "danlu.cli.cmd_down",
    "status": "danlu.cli.cmd_status",
    "doctor": "danlu.cli.cmd_doctor",
    "settings": "danlu.cli.cmd_settings",
    "completion": "danlu.cli.cmd_completion",
    "demo": "danlu.cli.cmd_demo",
}
INTERRUPTED = 130


class Commands(Group):
    """The commands of the table, each imported when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        return cast("click.Command", import_module(COMMANDS[cmd_name]).command)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            hint = suggestion(name, COMMANDS)
            raise Refused(say("main.no_command", name=repr(name)), hint=hint)
        return super().resolve_command(ctx, args)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(say("help.about"))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """From the catalogue: asking each command would import them all."""
        with formatter.section(say("help.commands")):
            formatter.write_dl([(name, say(f"help.{name}")) for name in COMMANDS])


def _version(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        from danlu import __version__

        click.echo(f"danlu {__version__}")
        ctx.exit()


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Version."
)
def app() -> None:
    """The command line; what it says of itself is in the catalogue."""


def run(args: Sequence[str] | None = None, connect: "Connect | None" = None) -> int:
    """Run one command and return its exit code."""
    words = list(sys.argv[1:] if args is None else args)
    session = Session(connect=connect)
    session.choose_language()
    _show_everything(sys.stdout)
    try:
        return _exit_code(app.main(words, "danlu", standalone_mode=False, obj=session))
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has left (`danlu logs | head`); the flush at exit must not fail.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        from danlu.cli.report import report

        session.json = session.json or "--json" in words
        session.debug = session.debug or "--debug" in words
        return report(session, error)


def _show_everything(stream: Any) -> None:
    """What a terminal has no character for is written out; a log must not end there."""
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="backslashreplace")


def _exit_code(result: Any) -> int:
    return result if isinstance(result, int) else 0
