"""danlu down: make the server leave."""

import click

from danlu.cli.options import Command
from danlu.cli.session import Session
from danlu.errors import Refused
from danlu.words import say


@click.command("down", cls=Command)
@click.pass_obj
def command(session: Session) -> None:
    """Stop the server. Running jobs go on, and the next server takes them up again."""
    if session.settings.server:
        raise Refused(say("down.elsewhere", server=session.settings.server))
    from danlu.client.background import bring_down

    living = bring_down(session.settings)
    if session.json:
        session.screen.json({"was_running": living is not None, "living": living or 0})
    elif living is None:
        session.screen.say("status.down")
    elif living:
        session.screen.say("down.living", count=living)
    else:
        session.screen.say("down.done")
