"""danlu store: objects of the embedded store and files of this machine, by URI or path."""

import click

from danlu.cli.layout import table
from danlu.cli.options import Group
from danlu.cli.session import Session
from danlu.cli.units import size
from danlu.errors import NotFound
from danlu.words import say


@click.group("store", cls=Group)
def command() -> None:
    """Copy, list and remove objects: obs:// s3:// ks3:// cos:// file:// and plain paths."""


@command.command("ls")
@click.argument("uri", required=False)
@click.option("-r", "--recursive", is_flag=True, help="Everything below.")
@click.pass_obj
def ls(session: Session, uri: str | None, recursive: bool) -> None:
    """List what is at URI; the buckets, if left out."""
    from danlu.cli.objects import Listed, Objects

    objects = Objects(session.settings)
    if uri is None:
        listed = [Listed(f"obs://{name}/", 0, 0) for name in objects.buckets()]
    elif recursive:
        listed = [Listed(path, entry.size) for path, entry in objects.tree(uri)]
    else:
        listed = objects.level(uri)
    if session.json:
        session.screen.json({"objects": [vars(item) for item in listed]})
        return
    if not listed:
        session.screen.say("store.nothing")
    rows = [(size(item.size) if item.count else "", item.name) for item in listed]
    for line in table(rows):
        session.screen.data(line)


@command.command("cp")
@click.argument("source")
@click.argument("target")
@click.option("-r", "--recursive", is_flag=True, hidden=True, help="A tree is copied anyway.")
@click.pass_obj
def cp(session: Session, source: str, target: str, recursive: bool) -> None:
    """Copy an object or a whole tree from SOURCE to TARGET."""
    from danlu.cli.objects import Objects

    count = total = 0
    for came, went, length in Objects(session.settings).copy(source, target):
        count, total = count + 1, total + length
        if session.json:
            session.screen.json({"from": came, "to": went, "size": length})
        elif session.screen.moves:
            session.screen.move(f"{count}  {size(total)}  {went}"[:78])
    session.screen.move("")
    if not session.json:
        session.screen.say("store.copied", count=count, size=size(total), target=target)


@command.command("rm")
@click.argument("uris", nargs=-1, required=True, metavar="URI...")
@click.option("-r", "--recursive", is_flag=True, help="Everything below.")
@click.pass_obj
def rm(session: Session, uris: tuple[str, ...], recursive: bool) -> None:
    """Remove each URI."""
    from danlu.cli.objects import Objects

    objects = Objects(session.settings)
    for uri in uris:
        count = objects.remove(uri, recursive=recursive)
        if session.json:
            session.screen.json({"uri": uri, "removed": count})
        else:
            session.screen.say("store.removed", uri=uri, count=count)


@command.command("cat")
@click.argument("uris", nargs=-1, required=True, metavar="URI...")
@click.pass_obj
def cat(session: Session, uris: tuple[str, ...]) -> None:
    """Write the bytes of each URI to stdout."""
    from danlu.cli.objects import Objects

    objects = Objects(session.settings)
    for uri in uris:
        place = objects.at(uri)
        if place.single() is None:
            raise NotFound("object", uri, hint=say("store.cat_hint") if place.exists() else "")
        with place.storage.open(place.key) as file:
            while block := file.read(1 << 20):
                session.screen.raw(block)


@command.command("du")
@click.argument("uri")
@click.pass_obj
def du(session: Session, uri: str) -> None:
    """Tell how much is below URI."""
    from danlu.cli.objects import Listed, Objects

    listed = Objects(session.settings).level(uri)
    total = Listed(uri, sum(item.size for item in listed), sum(item.count for item in listed))
    if session.json:
        session.screen.json({"uri": uri, "size": total.size, "objects": total.count})
        return
    rows = [(size(item.size), str(item.count), item.name) for item in (*listed, total)]
    for line in table(rows):
        session.screen.data(line)
