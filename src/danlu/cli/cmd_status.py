"""danlu status: what the server is doing."""

import time
from typing import Any

import click

from danlu.cli.layout import fields
from danlu.cli.options import Command
from danlu.cli.server_state import state
from danlu.cli.session import Session
from danlu.cli.units import age, size
from danlu.errors import Unavailable
from danlu.words import say


@click.command("status", cls=Command)
@click.pass_obj
def command(session: Session) -> None:
    """Tell whether the server runs, where, and what room it has. Starts nothing."""
    now = state(session)
    if now["running"]:
        now |= _room(session)
    if session.json:
        session.screen.json(now)
        return
    if not now["running"]:
        session.screen.say("status.down")
    session.screen.data("\n".join(fields(_rows(now))))


def _room(session: Session) -> dict[str, object]:
    """Return the room there is; why it is not known, where a cluster does not answer."""
    try:
        return {"capacity": session.client.capacity()}
    except Unavailable as error:
        return {"unavailable": error.message}


def _rows(now: dict[str, object]) -> list[tuple[str, str]]:
    shown = ("version", "pid", "url", "living", "server", "records", "socket", "home", "log")
    rows = [(say(f"status.{name}"), str(now[name])) for name in shown if _told(now, name)]
    started = now.get("started")
    if isinstance(started, float | int) and started:
        rows.append((say("status.started"), age(started, time.time())))
    capacity = now.get("capacity")
    if isinstance(capacity, dict):
        gpus = len(capacity["gpus"])
        memory = size(capacity["memory"])
        room = say("status.room_is", cpus=f"{capacity['cpus']:g}", memory=memory, gpus=gpus)
        rows.append((say("status.room"), room))
        rows += [_node(node) for node in capacity.get("nodes", ())]
    elif now.get("unavailable"):
        rows.append((say("status.room"), str(now["unavailable"])))
    return rows


def _node(node: dict[str, Any]) -> tuple[str, str]:
    told = {**node, "cpus": f"{node['cpus']:g}", "memory": size(node["memory"])}
    return say("status.node"), say("status.node_is", **told)


def _told(now: dict[str, object], name: str) -> bool:
    """Zero jobs are news; an empty address is not."""
    return bool(now.get(name)) or (name == "living" and now["running"] is True and name in now)
