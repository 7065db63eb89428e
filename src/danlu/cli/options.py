"""Options and arguments shared by several commands."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from danlu.cli.session import Session
from danlu.errors import Refused
from danlu.messages import get_message, has_message

F = TypeVar("F", bound=Callable[..., Any])


def _set_flag(ctx: click.Context, parameter: click.Parameter, value: Any) -> None:
    if value is not None:
        session = ctx.ensure_object(Session)
        session.flags[str(parameter.name)] = value
        session.__dict__.pop("settings", None)
        session.choose_language()


def _set_self(ctx: click.Context, parameter: click.Parameter, value: Any) -> None:
    if value:
        setattr(ctx.ensure_object(Session), str(parameter.name), value)


def _set_color(ctx: click.Context, parameter: click.Parameter, value: Any) -> None:
    if value:
        ctx.ensure_object(Session).screen.color = value


def common_options() -> list[click.Parameter]:
    """Return the options of every command, accepted before or after its name."""
    common: dict[str, Any] = {"expose_value": False, "is_eager": True}
    return [
        click.Option(["--json"], is_flag=True, callback=_set_self, help="option.json", **common),
        click.Option(
            ["--lang"],
            type=click.Choice(["en", "zh"]),
            callback=_set_flag,
            help="option.lang",
            **common,
        ),
        click.Option(
            ["--color"],
            type=click.Choice(["auto", "always", "never"]),
            callback=_set_color,
            help="option.color",
            **common,
        ),
        click.Option(
            ["--server"], metavar="URL", callback=_set_flag, help="option.server", **common
        ),
        click.Option(["--debug"], is_flag=True, callback=_set_self, help="option.debug", **common),
    ]


def translate_options(command: click.Command, ctx: click.Context) -> None:
    """Replace message keys in the help of options by texts of the current language."""
    for option in command.params:
        if isinstance(option, click.Option) and option.help and has_message(option.help):
            option.help = get_message(option.help)
    help_option = command.get_help_option(ctx)
    if help_option is not None:
        help_option.help = get_message("option.help")


def _translate(command: click.Command, ctx: click.Context, path: str) -> None:
    """Set the help of a command in the current language.

    The text is the message ``about.`` and the names of the command. Examples are taken from the
    docstring, where they follow the mark ``\\b``.
    """
    _, mark, examples = inspect.cleandoc(command.help or "").partition("\b")
    text = get_message(f"about.{path}")
    command.help = f"{text}\n\n\b{examples}" if mark else text
    translate_options(command, ctx)


def _path(ctx: click.Context) -> str:
    return ".".join(ctx.command_path.split()[1:])


class CliCommand(click.Command):
    """A command with the common options. The help of its options are message keys."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params += common_options()

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        _translate(self, ctx, _path(ctx))
        super().format_help(ctx, formatter)


class Group(click.Group):
    """A command with subcommands (``danlu store ls``)."""

    command_class = CliCommand

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params += common_options()

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        _translate(self, ctx, _path(ctx))
        for name, command in self.commands.items():
            _translate(command, ctx, f"{_path(ctx)}.{name}")
        super().format_help(ctx, formatter)


def job_argument(*, required: bool = False, several: bool = False) -> Callable[[F], F]:
    """Return the argument ``JOB``: a name, an id, or a prefix of either.

    The default is the latest job.
    """
    return click.argument(
        "jobs" if several else "job",
        metavar="JOB..." if several else "JOB",
        required=required,
        nargs=-1 if several else 1,
        shell_complete=_complete_job,
    )


def _complete_job(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    from danlu.cli.session import job_names

    return [name for name in job_names(ctx.ensure_object(Session)) if name.startswith(incomplete)]


def reference(session: Session, job: str | None) -> str:
    """Return ``job``, or the id of the latest one.

    Raises:
        Refused: there are no jobs.
    """
    if job:
        return job
    found = session.client.jobs(limit=1)["jobs"]
    if not found:
        raise Refused(get_message("job.none"), hint=get_message("job.none.hint"))
    return str(found[0]["id"])


def parameters(given: Sequence[str]) -> dict[str, str]:
    """Return the values of ``-p`` as a mapping; ``--NAME=VALUE`` means ``NAME=VALUE``.

    Raises:
        Refused: as :func:`pairs`.
    """
    return pairs("-p", [word.removeprefix("--") for word in given])


def pairs(option: str, given: Sequence[str]) -> dict[str, str]:
    """Return ``NAME=VALUE`` words as a mapping; ``NAME=`` is the empty value.

    Raises:
        Refused: a word has no ``=`` or no name, or a name occurs twice; lists all of them.
    """
    found: dict[str, str] = {}
    faults = []
    for word in given:
        name, equals, value = word.partition("=")
        if not equals:
            faults.append(get_message("pair.no_equals", option=option, word=repr(word)))
        elif not name:
            faults.append(get_message("pair.no_name", option=option, word=repr(word)))
        elif name in found:
            faults.append(get_message("pair.twice", option=option, name=repr(name)))
        found[name] = value
    if faults:
        raise Refused("\n".join(faults))
    return found
