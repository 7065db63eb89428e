"""Options and arguments that several commands share."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from danlu.cli.session import Session
from danlu.errors import Refused
from danlu.words import say

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
    """Return what every command takes, before or after its name."""
    common: dict[str, Any] = {"expose_value": False, "is_eager": True}
    return [
        click.Option(
            ["--json"], is_flag=True, callback=_set_self, help="JSON on stdout.", **common
        ),
        click.Option(
            ["--lang"],
            type=click.Choice(["en", "zh"]),
            callback=_set_flag,
            help="Language of messages.",
            **common,
        ),
        click.Option(
            ["--color"],
            type=click.Choice(["auto", "always", "never"]),
            callback=_set_color,
            help="When to use colour.",
            **common,
        ),
        click.Option(
            ["--server"], metavar="URL", callback=_set_flag, help="A server elsewhere.", **common
        ),
        click.Option(
            ["--debug"], is_flag=True, callback=_set_self, help="Show our own tracebacks.", **common
        ),
    ]


class Command(click.Command):
    """A command with the options every command takes."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params += common_options()


class Group(click.Group):
    """Commands below a command (``danlu store ls``)."""

    command_class = Command

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params += common_options()


def job_argument(*, required: bool = False, several: bool = False) -> Callable[[F], F]:
    """``JOB``: a name, an id, or the beginning of one. Left out, it is the latest job."""
    return click.argument(
        "jobs" if several else "job",
        metavar="JOB..." if several else "JOB",
        required=required,
        nargs=-1 if several else 1,
        shell_complete=_complete_job,
    )


def _complete_job(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    from danlu.cli.complete import job_names

    return [name for name in job_names(ctx.ensure_object(Session)) if name.startswith(incomplete)]


def reference(session: Session, job: str | None) -> str:
    """Return ``job``, or the id of the latest one.

    Raises:
        Refused: there is no job at all.
    """
    if job:
        return job
    found = session.client.jobs(limit=1)["jobs"]
    if not found:
        raise Refused(say("job.none"), hint=say("job.none.hint"))
    return str(found[0]["id"])


def pairs(option: str, given: Sequence[str]) -> dict[str, str]:
    """Return ``NAME=VALUE`` words as a mapping; ``NAME=`` is the empty value.

    Raises:
        Refused: words without ``=`` or without a name, and names given twice, all of them.
    """
    found: dict[str, str] = {}
    faults = []
    for word in given:
        name, equals, value = word.partition("=")
        if not equals:
            faults.append(say("pair.no_equals", option=option, word=repr(word)))
        elif not name:
            faults.append(say("pair.no_name", option=option, word=repr(word)))
        elif name in found:
            faults.append(say("pair.twice", option=option, name=repr(name)))
        found[name] = value
    if faults:
        raise Refused("\n".join(faults))
    return found
