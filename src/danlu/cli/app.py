"""The top-level command. It finds the subcommand and prints every error as a message.

Exit codes: 0 ok, 1 failed, 2 usage, 3 not found, 4 not allowed, 5 the job failed, 6 a wait timed
out, 130 Ctrl-C.
"""

import os
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

import click

from danlu.cli.options import Group, translate_options
from danlu.cli.session import Session
from danlu.errors import DanluError, Refused, StorageError, Unavailable, UserError, suggestion
from danlu.messages import get_message
from danlu.messages.text import moment

if TYPE_CHECKING:
    from danlu.cli.session import Connect


# Command name to module and attribute of its click command.
COMMANDS = {
    "run": "danlu.cli.commands.run:run_command",
    "submit": "danlu.cli.commands.submit:submit_command",
    "check": "danlu.cli.commands.check:check_command",
    "python": "danlu.cli.commands.python:python_command",
    "verify": "danlu.cli.commands.verify:verify_command",
    "ls": "danlu.cli.commands.jobs:ls_command",
    "show": "danlu.cli.commands.jobs:show_command",
    "logs": "danlu.cli.commands.jobs:logs_command",
    "get": "danlu.cli.commands.files:get_command",
    "stop": "danlu.cli.commands.jobs:stop_command",
    "rm": "danlu.cli.commands.jobs:rm_command",
    "wait": "danlu.cli.commands.jobs:wait_command",
    "rerun": "danlu.cli.commands.submit:rerun_command",
    "restore": "danlu.cli.commands.files:restore_command",
    "algorithm": "danlu.cli.commands.definitions:algorithm_command",
    "dataset": "danlu.cli.commands.definitions:dataset_command",
    "store": "danlu.cli.commands.store:store_command",
    "up": "danlu.cli.commands.server:up_command",
    "down": "danlu.cli.commands.server:down_command",
    "status": "danlu.cli.commands.server:status_command",
    "doctor": "danlu.cli.commands.machine:doctor_command",
    "settings": "danlu.cli.commands.machine:settings_command",
    "completion": "danlu.cli.commands.machine:completion_command",
    "demo": "danlu.cli.commands.demo:demo_command",
}
INTERRUPTED = 130


class Commands(Group):
    """A group of the commands in ``COMMANDS``. A command is imported when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name].partition(":")
        return cast("click.Command", getattr(import_module(module), attribute))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            hint = suggestion(name, COMMANDS)
            raise Refused(get_message("main.no_command", name=repr(name)), hint=hint)
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        translate_options(self, ctx)
        click.Group.format_help(self, ctx, formatter)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(get_message("help.about"))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands with texts from the message catalogue.

        Reading the text from each command would import all of them.
        """
        with formatter.section(get_message("help.commands")):
            formatter.write_dl([(name, get_message(f"help.{name}")) for name in COMMANDS])


def _version(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        from danlu import __version__

        click.echo(f"danlu {__version__}")
        ctx.exit()


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_version,
    help="option.version",
)
def app() -> None:
    """The command line. Its help texts are in the message catalogue."""


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
        # The reader of stdout has exited (`danlu logs | head`). The flush at exit must not fail.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        session.json = session.json or "--json" in words
        session.debug = session.debug or "--debug" in words
        return report(session, error)


def _show_everything(stream: Any) -> None:
    """Escape characters that the encoding of a stream lacks, instead of raising an error.

    A log must not stop at such a character.
    """
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="backslashreplace")


def _exit_code(result: Any) -> int:
    return result if isinstance(result, int) else 0


def report(session: Session, error: Exception) -> int:
    """Print ``error`` and return its exit code."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError) and not session.json:
        session.screen.note(error.format_message())
        return error.exit_code
    if isinstance(error, click.ClickException):
        return _print_error(session, _usage(error))
    if isinstance(error, UserError | Unavailable | StorageError):
        return _print_error(session, error)
    if isinstance(error, OSError) and error.strerror and error.filename:
        return _print_error(session, Unavailable(f"{error.filename}: {error.strerror}."))
    return _internal(session, error)


def _usage(error: click.ClickException) -> UserError:
    hint = ""
    context = getattr(error, "ctx", None)
    if context is not None:
        hint = get_message("error.usage", command=context.command_path)
    return Refused(error.format_message(), hint=hint)


def _print_error(session: Session, error: DanluError) -> int:
    if session.json:
        session.screen.json({"error": error.to_wire()})
    else:
        show(session, error.message, error.hint)
    return error.exit_code


def show(session: Session, message: str, hint: str = "") -> None:
    screen = session.screen
    label = screen.paint(get_message("error.label"), "red bold", screen.err)
    first, *rest = message.split("\n")
    screen.note("\n".join([f"{label} {first}", *(f"  {line}" for line in rest)]))
    if hint:
        screen.note(f"{screen.paint(get_message('error.hint'), 'bold', screen.err)} {hint}")


def _internal(session: Session, error: Exception) -> int:
    known = isinstance(error, DanluError)
    message = error.message if isinstance(error, DanluError) else _one_line(error)
    details = "".join(traceback.format_exception(error))
    log = "" if session.debug else _write_log(session, details)
    if session.json:
        wire: dict[str, Any] = (
            error.to_wire()
            if isinstance(error, DanluError)
            else {
                "code": "internal",
                "message": message,
                "hint": "",
            }
        )
        session.screen.json({"error": {**wire, "log": log}})
        return 1
    show(
        session,
        get_message("error.internal", message=message),
        getattr(error, "hint", "") if known else "",
    )
    if session.debug:
        session.screen.note(details.rstrip())
    elif log:
        session.screen.print_message("error.log", path=log)
    return 1


def _one_line(error: Exception) -> str:
    return " ".join(traceback.format_exception_only(error)[-1].split())


def _write_log(session: Session, details: str) -> str:
    """Append a traceback to ``cli.log`` in the home and return its path.

    Return an empty string if the home cannot be written.
    """
    try:
        path = session.settings.home / "cli.log"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            import time

            file.write(f"{moment(time.time())}\n{details}\n")
        return str(path)
    except (OSError, DanluError):
        return ""
