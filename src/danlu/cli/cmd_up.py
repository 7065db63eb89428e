"""danlu up: the server with an address other machines and a browser can reach."""

import socket
from typing import TYPE_CHECKING

import click

from danlu import __version__
from danlu.cli.options import Command
from danlu.cli.session import Session

if TYPE_CHECKING:
    from danlu.client.background import Up
    from danlu.executors.ray.head import Head


@click.command("up", cls=Command)
@click.option("--host", default="", help="Where to listen; the setting host, if left out.")
@click.option("--port", type=click.IntRange(0, 65535), help="Likewise; 0 takes a free one.")
@click.option("--rotate-token", is_flag=True, help="Make a new token; the old one ends.")
@click.option("--ray", is_flag=True, help="Start a Ray head here too, and run tasks on it.")
@click.pass_obj
def command(session: Session, host: str, port: int | None, rotate_token: bool, ray: bool) -> None:
    """Start the server on a TCP address and print it. Jobs go on meanwhile."""
    head = None
    if ray:
        up, head = _with_ray(session, host, port, rotate_token)
    else:
        up = _bring_up(session, host, port, rotate_token)
    if session.json:
        told = {"ray": head.address, "dashboard": head.dashboard} if head else {}
        session.screen.json({**up._asdict(), **told})
        return
    session.screen.data(up.url)
    session.screen.say("up.ready", url=up.url, file=session.settings.home / "token")
    elsewhere = _from_elsewhere(up.url, host or session.settings.host)
    if elsewhere:
        session.screen.say("up.elsewhere", url=elsewhere, file=session.settings.home / "token")
    if head:
        _tell_ray(session, head)


def _bring_up(session: Session, host: str, port: int | None, rotate: bool) -> "Up":
    from danlu.client.background import bring_up

    return bring_up(session.settings, host, port, rotate=rotate)


def _with_ray(session: Session, host: str, port: int | None, rotate: bool) -> "tuple[Up, Head]":
    """Start a head, then a server that uses it; a head that no server would use is ended."""
    from danlu.client.background import bring_down
    from danlu.errors import DanluError
    from danlu.executors.ray.head import head_of, start_head, stop_head

    settings = session.settings
    before = head_of(settings)
    head = start_head(settings, host or settings.host)
    try:
        if head != before:
            bring_down(settings)  # the one that runs may use another executor, or a dead head
        up = _bring_up(session, host, port, rotate)
    except DanluError:
        if before is None:
            stop_head(settings)
        raise
    return up, head


def _tell_ray(session: Session, head: "Head") -> None:
    from danlu.executors.ray.access import token_file

    nodes = len(session.client.capacity()["nodes"])
    file = token_file(session.settings)
    session.screen.say("up.ray", address=head.address, nodes=nodes, file=file)
    if head.dashboard:
        session.screen.say("up.ray_dashboard", url=head.dashboard)
    if head.address.startswith("127."):
        session.screen.say("up.ray_alone")
    else:
        session.screen.say("up.ray_join", address=head.address, version=__version__)


def _from_elsewhere(url: str, host: str) -> str:
    """Return how other machines reach the server; empty where they do not."""
    if host in ("0.0.0.0", "::"):
        return f"http://{socket.gethostname()}:{url.rpartition(':')[2]}"
    return "" if host == "localhost" or host.startswith("127.") or host == "::1" else url
