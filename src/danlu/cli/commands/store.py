"""The commands ``danlu store``, on objects of all stores and local files."""

from typing import TYPE_CHECKING

import click

from danlu.cli.options import Group
from danlu.cli.session import Session
from danlu.cli.text import table
from danlu.errors import NotFound, StorageError
from danlu.messages import get_message
from danlu.messages.text import size

if TYPE_CHECKING:
    from danlu.cli.objects import Objects
    from danlu.settings import Endpoint


@click.group("store", cls=Group)
def store_command() -> None:
    """Copy, list and remove objects: obs:// s3:// ks3:// cos:// file:// and plain paths."""


@store_command.command("ls")
@click.argument("uris", nargs=-1, metavar="[URI]...")
@click.option("-r", "--recursive", is_flag=True, help="option.recursive")
@click.pass_obj
def ls(session: Session, uris: tuple[str, ...], recursive: bool) -> None:
    """List what is at each URI; the stores and their buckets, if left out."""
    from danlu.cli.objects import Objects

    objects = Objects(session.settings)
    if not uris:
        _list_stores(session, objects)
        return
    places = objects.expand(uris)
    # For a single location without wildcards, names are relative to it. Otherwise they are full.
    alone = places == list(uris) and len(uris) == 1
    listed = [item for uri in places for item in objects.listed(uri, recursive, whole=not alone)]
    if session.json:
        session.screen.json({"objects": [vars(item) for item in listed]})
        return
    if not listed:
        session.screen.print_message("store.nothing")
    for line in table([(size(item.size) if item.count else "", item.name) for item in listed]):
        session.screen.data(line)


def _list_stores(session: Session, objects: "Objects") -> None:
    """Print the store of each scheme and its buckets."""
    from danlu.settings import endpoint_of
    from danlu.storage.locate import BUCKETS

    settings = session.settings
    found = {scheme: endpoint_of(scheme, settings.stores) for scheme in BUCKETS}
    embedded = [scheme for scheme, endpoint in found.items() if endpoint is None]
    listed = [f"{embedded[0]}://{name}/" for name in objects.buckets()] if embedded else []
    elsewhere = {scheme: endpoint for scheme, endpoint in found.items() if endpoint}
    if embedded and not session.json:
        schemes = ", ".join(f"{scheme}://" for scheme in embedded)
        session.screen.print_message("store.embedded", schemes=schemes, folder=settings.store)
    for scheme, endpoint in elsewhere.items():
        if not session.json:
            session.screen.print_message(
                "store.endpoint", scheme=f"{scheme}://", url=endpoint.endpoint
            )
        # Several schemes may use one service. Its buckets are listed once.
        if scheme == next(name for name, other in elsewhere.items() if other == endpoint):
            listed += _buckets_at(session, objects, scheme, endpoint)
    if session.json:
        session.screen.json(
            {
                "objects": [{"name": name, "size": 0, "count": 0} for name in listed],
                "embedded": embedded,
                "endpoints": {scheme: at.endpoint for scheme, at in elsewhere.items()},
            }
        )
        return
    if not listed:
        session.screen.print_message("store.nothing")
    for name in listed:
        session.screen.data(name)


def _buckets_at(
    session: Session, objects: "Objects", scheme: str, endpoint: "Endpoint"
) -> list[str]:
    from danlu.errors import StorageError

    try:
        return [f"{scheme}://{name}/" for name in objects.buckets_at(endpoint)]
    except StorageError as error:
        # Its buckets can still be used by name.
        session.screen.print_message(
            "store.buckets_untold", url=endpoint.endpoint, why=error.message
        )
        return []


@store_command.command("cp")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.argument("target")
@click.option("-r", "--recursive", is_flag=True, hidden=True, help="option.recursive_copy")
@click.pass_obj
def cp(session: Session, sources: tuple[str, ...], target: str, recursive: bool) -> None:
    """Copy objects and whole trees to TARGET."""
    from danlu.cli.objects import Objects, plan_copy
    from danlu.cli.text import Bar
    from danlu.storage.transfer.copy import CopyTask, run

    objects = Objects(session.settings)
    moves = plan_copy(objects, objects.expand(sources), target)

    def on_copied(move: CopyTask) -> None:
        if session.json:
            session.screen.json({"from": move.entry.key, "to": move.key, "size": move.entry.size})

    with Bar(session.screen, target) as bar:
        done = run(moves, None if session.json else bar, on_copied)
    if not session.json:
        session.screen.print_message(
            "store.copied",
            count=len(done.copied),
            size=size(done.size),
            target=target,
            place=_place(objects.is_embedded(target)),
        )


@store_command.command("sync")
@click.argument("source")
@click.argument("target")
@click.option("--delete", is_flag=True, help="option.delete")
@click.option("-n", "--dry-run", is_flag=True, help="option.dry_run_done")
@click.pass_obj
def sync(session: Session, source: str, target: str, delete: bool, dry_run: bool) -> None:
    """Copy what is new or different in the tree SOURCE to the tree TARGET."""
    from danlu.cli.objects import Objects, plan_sync, prune
    from danlu.cli.text import Bar
    from danlu.storage.transfer.copy import CopyTask, run

    objects = Objects(session.settings)
    moves, beyond = plan_sync(objects, source, target)
    if delete:
        objects.check_not_everything(target)

    def on_copied(move: CopyTask) -> None:
        if session.json:
            session.screen.json({"action": "copy", "key": move.key, "size": move.entry.size})
        elif dry_run:
            session.screen.data(
                get_message("store.would_copy", key=move.key, size=size(move.entry.size))
            )

    def gone(key: str) -> None:
        if session.json:
            session.screen.json({"action": "remove", "key": key})
        elif dry_run:
            session.screen.data(get_message("store.would_remove", key=key))

    with Bar(session.screen, target) as bar:
        done = run(moves, None if session.json else bar, on_copied, dry=dry_run)
    removed = prune(objects, source, target, beyond, gone, dry=dry_run) if delete else 0
    result = {"copied": len(done.copied), "same": len(done.same), "removed": removed}
    if session.json:
        session.screen.json({**result, "size": done.size, "dry_run": dry_run})
        return
    key = "store.would_sync" if dry_run else "store.synced"
    place = _place(objects.is_embedded(target))
    session.screen.print_message(key, target=target, size=size(done.size), place=place, **result)


def _place(embedded: bool) -> str:
    return f" {get_message('store.in_embedded')}" if embedded else ""


@store_command.command("rm")
@click.argument("uris", nargs=-1, required=True, metavar="URI...")
@click.option("-r", "--recursive", is_flag=True, help="option.recursive")
@click.option("-n", "--dry-run", is_flag=True, help="option.dry_run_removed")
@click.pass_obj
def rm(session: Session, uris: tuple[str, ...], recursive: bool, dry_run: bool) -> None:
    """Remove each URI."""
    from danlu.cli.objects import Objects

    objects = Objects(session.settings)
    for uri in objects.expand(uris):
        if dry_run:
            found = objects.removable(uri, recursive=recursive)
            keys = [entry.key for entry in found if not entry.key.endswith("/")]
        else:
            keys = list(objects.remove(uri, recursive=recursive))
        if session.json and dry_run:
            session.screen.json({"uri": uri, "removed": 0, "keys": keys})
        elif session.json:
            session.screen.json({"uri": uri, "removed": len(keys)})
        elif not dry_run:
            session.screen.print_message("store.removed", uri=uri, count=len(keys))
        else:
            for key in keys:
                session.screen.data(get_message("store.would_remove", key=key))


@store_command.command("retry")
@click.argument("job", metavar="JOB")
@click.pass_obj
def retry(session: Session, job: str) -> None:
    """Store the outputs of an ended JOB that could not be stored."""

    store_again(session, job)


@store_command.command("cat")
@click.argument("uris", nargs=-1, required=True, metavar="URI...")
@click.pass_obj
def cat(session: Session, uris: tuple[str, ...]) -> None:
    """Write the bytes of each URI to stdout."""
    from danlu.cli.objects import Objects

    objects = Objects(session.settings)
    for uri in objects.expand(uris):
        place = objects.at(uri)
        if place.single() is None:
            tree = place.exists()
            raise (
                NotFound("object", uri, hint=get_message("store.cat_hint"))
                if tree
                else (objects.missing(uri))
            )
        with place.storage.open(place.key) as file:
            while block := file.read(1 << 20):
                session.screen.raw(block)


@store_command.command("du")
@click.argument("uris", nargs=-1, required=True, metavar="URI...")
@click.pass_obj
def du(session: Session, uris: tuple[str, ...]) -> None:
    """Show the number and size of objects below each URI."""
    from danlu.cli.objects import Listed, Objects

    objects = Objects(session.settings)
    for uri in objects.expand(uris):
        listed = objects.level(uri)
        total = Listed(uri, sum(item.size for item in listed), sum(item.count for item in listed))
        if session.json:
            session.screen.json({"uri": uri, "size": total.size, "objects": total.count})
            continue
        rows = [(size(item.size), str(item.count), item.name) for item in (*listed, total)]
        for line in table(rows):
            session.screen.data(line)


@store_command.command("sweep")
@click.argument("uris", nargs=-1, required=True, metavar="URI...")
@click.option("--hours", type=click.FloatRange(min=0), default=24.0, help="option.hours")
@click.option("-n", "--dry-run", is_flag=True, help="option.dry_run_removed")
@click.pass_obj
def sweep(session: Session, uris: tuple[str, ...], hours: float, dry_run: bool) -> None:
    """Remove what killed writers left below each URI: parts that no listing shows, and are paid."""
    from danlu.cli import objects as leftovers
    from danlu.cli.objects import Objects

    objects = Objects(session.settings)
    for uri in uris:
        place, older = objects.at(uri), hours * 3600
        keys = leftovers.find(place, older)
        count = 0 if dry_run else leftovers.remove(place, older)
        if session.json:
            session.screen.json({"uri": uri, "removed": count, "keys": keys})
        elif not dry_run:
            session.screen.print_message("store.removed", uri=uri, count=count)
        else:
            for key in keys:
                session.screen.data(get_message("store.would_remove", key=key))


def store_again(session: Session, job: str) -> None:
    """Upload the outputs of a job that are in no store yet, and wait until this is done.

    If the server is killed meanwhile, the next one resumes the upload.

    Raises:
        StorageError: the upload failed; the message has the reason.
    """
    from danlu.cli.text import Bar

    view = session.client.job(job)
    result = {"job": view["id"], "outputs": [item["uri"] for item in view["unstored"]]}
    if view["unstored"]:
        with Bar(session.screen, view["name"]) as bar:
            while (upload := session.client.store_again(view["id"]))["running"]:
                if not session.json:
                    bar(upload["done"], upload["total"])
        if upload["error"]:
            places = ", ".join(item["path"] for item in view["unstored"])
            raise StorageError(upload["error"], hint=get_message("store.retry_hint", places=places))
    if session.json:
        session.screen.json(result)
        return
    key = "store.retried" if view["unstored"] else "store.nothing_to_retry"
    session.screen.print_message(key, name=view["name"])
