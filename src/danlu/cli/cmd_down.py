"""danlu down: make the server leave."""

import click

from danlu.cli.options import Command
from danlu.cli.session import Session
from danlu.errors import Refused
from danlu.words import say


@click.command("down", cls=Command)
@click.pass_obj
def command(session: Session) -> None:
    """Stop the server, and a Ray head of `danlu up --ray`. Jobs go on with the next server."""
    if session.settings.server:
        raise Refused(say("down.elsewhere", server=session.settings.server))
    from danlu.client.background import bring_down
    from danlu.executors.ray.head import stop_head

    living = bring_down(session.settings)
    head = stop_head(session.settings, for_good=not living)
    if session.json:
        told = {"was_running": living is not None, "living": living or 0, "ray": head}
        session.screen.json(told)
        return
    if living is None:
        session.screen.say("status.down")
    elif living and not head:
        session.screen.say("down.living", count=living)
    else:
        session.screen.say("down.done")
    if head:
        session.screen.say("down.ray_living" if living else "down.ray", count=living or 0)
