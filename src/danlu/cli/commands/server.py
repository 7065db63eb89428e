"""The commands ``danlu up``, ``danlu down`` and ``danlu status``."""

import socket
import time
from typing import TYPE_CHECKING, Any

import click

from danlu import __version__
from danlu.cli.options import CliCommand
from danlu.cli.session import Session, state
from danlu.cli.text import fields
from danlu.errors import Refused, Unavailable
from danlu.messages import get_message
from danlu.messages.text import age, size

if TYPE_CHECKING:
    from danlu.client.background import Up
    from danlu.executors.ray.head import Head


@click.command("up", cls=CliCommand)
@click.option("--host", default="", help="option.host")
@click.option("--port", type=click.IntRange(0, 65535), help="option.port")
@click.option("--rotate-token", is_flag=True, help="option.new_token")
@click.option("--ray", is_flag=True, help="option.ray")
@click.pass_obj
def up_command(
    session: Session, host: str, port: int | None, rotate_token: bool, ray: bool
) -> None:
    """Start the server on a TCP address and print it. Jobs go on meanwhile."""
    head = None
    if ray:
        up, head = _with_ray(session, host, port, rotate_token)
    else:
        up = _bring_up(session, host, port, rotate_token)
    if session.json:
        values = {"ray": head.address, "dashboard": head.dashboard} if head else {}
        session.screen.json({**up._asdict(), **values})
        return
    session.screen.data(up.url)
    session.screen.print_message("up.ready", url=up.url, file=session.settings.home / "token")
    elsewhere = _from_elsewhere(up.url, host or session.settings.host)
    if elsewhere:
        session.screen.print_message(
            "up.elsewhere", url=elsewhere, file=session.settings.home / "token"
        )
    if head:
        _print_ray(session, head)


def _bring_up(session: Session, host: str, port: int | None, rotate: bool) -> "Up":
    from danlu.client.background import bring_up

    return bring_up(session.settings, host, port, rotate=rotate)


def _with_ray(session: Session, host: str, port: int | None, rotate: bool) -> "tuple[Up, Head]":
    """Start a Ray head, then a server that uses it.

    If the server does not start, a head that was started here is stopped.
    """
    from danlu.client.background import bring_down
    from danlu.errors import DanluError
    from danlu.executors.ray.head import head_of, start_head, stop_head

    settings = session.settings
    before = head_of(settings)
    head = start_head(settings, host or settings.host)
    try:
        if head != before:
            bring_down(settings)  # the running server may use another executor or a dead head
        up = _bring_up(session, host, port, rotate)
    except DanluError:
        if before is None:
            stop_head(settings)
        raise
    return up, head


def _print_ray(session: Session, head: "Head") -> None:
    from danlu.executors.ray.access import token_file

    nodes = len(session.client.capacity()["nodes"])
    file = token_file(session.settings)
    session.screen.print_message("up.ray", address=head.address, nodes=nodes, file=file)
    if head.dashboard:
        session.screen.print_message("up.ray_dashboard", url=head.dashboard)
    if head.address.startswith("127."):
        session.screen.print_message("up.ray_alone")
    else:
        session.screen.print_message("up.ray_join", address=head.address, version=__version__)


def _from_elsewhere(url: str, host: str) -> str:
    """Return the URL of the server for other machines; empty if they cannot reach it."""
    if host in ("0.0.0.0", "::"):
        return f"http://{socket.gethostname()}:{url.rpartition(':')[2]}"
    return "" if host == "localhost" or host.startswith("127.") or host == "::1" else url


@click.command("down", cls=CliCommand)
@click.pass_obj
def down_command(session: Session) -> None:
    """Stop the server, and a Ray head of `danlu up --ray`. Jobs go on with the next server."""
    if session.settings.server:
        raise Refused(get_message("down.elsewhere", server=session.settings.server))
    from danlu.client.background import bring_down
    from danlu.executors.ray.head import stop_head

    living = bring_down(session.settings)
    head = stop_head(session.settings, for_good=not living)
    if session.json:
        values = {"was_running": living is not None, "living": living or 0, "ray": head}
        session.screen.json(values)
        return
    if living is None:
        session.screen.print_message("status.down")
    elif living and not head:
        session.screen.print_message("down.living", count=living)
    else:
        session.screen.print_message("down.done")
    if head:
        session.screen.print_message("down.ray_living" if living else "down.ray", count=living or 0)


@click.command("status", cls=CliCommand)
@click.pass_obj
def status_command(session: Session) -> None:
    """Show whether the server runs, where, and its capacity. Starts nothing."""
    now = state(session)
    if now["running"]:
        now |= _capacity(session)
    if session.json:
        session.screen.json(now)
        return
    if not now["running"]:
        session.screen.print_message("status.down")
    session.screen.data("\n".join(fields(_rows(now))))


def _capacity(session: Session) -> dict[str, object]:
    """Return the capacity, or the reason why it is unknown if a cluster does not respond."""
    try:
        return {"capacity": session.client.capacity()}
    except Unavailable as error:
        return {"unavailable": error.message}


def _rows(now: dict[str, object]) -> list[tuple[str, str]]:
    shown = ("version", "pid", "url", "living", "server", "records", "socket", "home", "log")
    rows = [
        (get_message(f"status.{name}"), str(now[name])) for name in shown if _is_shown(now, name)
    ]
    started = now.get("started")
    if isinstance(started, float | int) and started:
        rows.append((get_message("status.started"), age(started, time.time())))
    capacity = now.get("capacity")
    if isinstance(capacity, dict):
        gpus = len(capacity["gpus"])
        memory = size(capacity["memory"])
        text = get_message(
            "status.capacity_is", cpus=f"{capacity['cpus']:g}", memory=memory, gpus=gpus
        )
        rows.append((get_message("status.capacity"), text))
        rows += [_node(node) for node in capacity.get("nodes", ())]
    elif now.get("unavailable"):
        rows.append((get_message("status.capacity"), str(now["unavailable"])))
    return rows


def _node(node: dict[str, Any]) -> tuple[str, str]:
    values = {**node, "cpus": f"{node['cpus']:g}", "memory": size(node["memory"])}
    return get_message("status.node"), get_message("status.node_is", **values)


def _is_shown(now: dict[str, object], name: str) -> bool:
    """Return True if a row is shown: empty values are hidden, except zero jobs."""
    return bool(now.get(name)) or (name == "living" and now["running"] is True and name in now)
