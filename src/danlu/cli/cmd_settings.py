"""danlu settings: every value in force, and where it comes from."""

import click

from danlu.cli.layout import table
from danlu.cli.options import Command
from danlu.cli.session import Session
from danlu.cli.setting_text import as_json, as_text
from danlu.words import say


@click.command("settings", cls=Command)
@click.pass_obj
def command(session: Session) -> None:
    """Print each setting with its origin: flag, environment, file or default."""
    settings = session.settings
    names = list(settings.origins)
    if session.json:
        session.screen.json(
            {
                name: {"value": as_json(getattr(settings, name)), "origin": settings.origins[name]}
                for name in names
            }
        )
        return
    rows = [(name, settings.origins[name], as_text(name, settings)) for name in names]
    head = tuple(say(f"settings.{title}") for title in ("name", "origin", "value"))
    session.screen.data("\n".join(table([head, *rows])))
    session.screen.say("settings.file", path=settings.file)
