"""danlu dataset: names for places of data, that remember what lay there."""

import time

import click

from danlu.cli import render_definition
from danlu.cli.options import Group
from danlu.cli.request import place_uri
from danlu.cli.session import Session
from danlu.cli.units import size
from danlu.errors import Refused
from danlu.words import say


@click.group("dataset", cls=Group)
def command() -> None:
    """Name data once and read it with danlu run … --data-url dataset://NAME."""


@command.command("create")
@click.argument("name")
@click.argument("uri")
@click.option("--description", default="", metavar="TEXT", help="What it is.")
@click.pass_obj
def create(session: Session, name: str, uri: str, description: str) -> None:
    """Make the next version of data set NAME from what lies at URI, which may be a local path.

    \b
    danlu dataset create mnist obs://bucket/mnist
    """
    place = place_uri(uri)
    if place.startswith("file://") and session.settings.server:
        raise Refused(
            say("run.local_elsewhere", path=uri, server=session.settings.server),
            hint=say("run.local_elsewhere.hint"),
        )
    view = session.client.datasets.create(name, {"uri": place, "description": description})
    render_definition.made(session, view, "dataset.read_with")


@command.command("ls")
@click.option("-q", "--quiet", is_flag=True, help="Names only.")
@click.pass_obj
def ls(session: Session, quiet: bool) -> None:
    """List data sets in their newest version."""
    found = session.client.datasets.list()
    if session.json:
        session.screen.json({"datasets": found})
        return
    rows = [
        [str(view["contents"]["files"]), size(view["contents"]["size"]), view["uri"]]
        for view in found
    ]
    head = ("dataset.files", "dataset.size", "dataset.uri")
    render_definition.listed(session, found, head, rows, quiet=quiet, none="dataset.none")


@command.command("show")
@click.argument("reference", metavar="NAME[:VERSION]")
@click.pass_obj
def show(session: Session, reference: str) -> None:
    """Show a data set, in its newest version unless told, and whether it has changed since."""
    view = session.client.datasets.get(reference)
    if session.json:
        session.screen.json(view)
        return
    lines = render_definition.dataset(view, time.time(), session.screen.paint)
    session.screen.data("\n".join(lines))


@command.command("rm")
@click.argument("references", nargs=-1, required=True, metavar="NAME[:VERSION]...")
@click.pass_obj
def rm(session: Session, references: tuple[str, ...]) -> None:
    """Forget versions, or all of a NAME. The data stays where it is."""
    for reference in references:
        session.client.datasets.remove(reference)
        render_definition.removed(session, reference)
