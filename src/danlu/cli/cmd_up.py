"""danlu up: the server with an address other machines and a browser can reach."""

import socket
from dataclasses import asdict

import click

from danlu.cli.options import Command
from danlu.cli.session import Session


@click.command("up", cls=Command)
@click.option("--host", default="", help="Where to listen; the setting host, if left out.")
@click.option("--port", type=click.IntRange(0, 65535), help="Likewise; 0 takes a free one.")
@click.option("--rotate-token", is_flag=True, help="Make a new token; the old one ends.")
@click.pass_obj
def command(session: Session, host: str, port: int | None, rotate_token: bool) -> None:
    """Start the server on a TCP address and print it. Jobs go on meanwhile."""
    from danlu.client.background import bring_up

    up = bring_up(session.settings, host, port, rotate=rotate_token)
    if session.json:
        session.screen.json(asdict(up))
        return
    session.screen.data(up.url)
    session.screen.say("up.ready", url=up.url, file=session.settings.home / "token")
    elsewhere = _from_elsewhere(up.url, host or session.settings.host)
    if elsewhere:
        session.screen.say("up.elsewhere", url=elsewhere, file=session.settings.home / "token")


def _from_elsewhere(url: str, host: str) -> str:
    """Return how other machines reach the server; empty where they do not."""
    if host in ("0.0.0.0", "::"):
        return f"http://{socket.gethostname()}:{url.rpartition(':')[2]}"
    return "" if host == "localhost" or host.startswith("127.") or host == "::1" else url
