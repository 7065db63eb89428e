"""The commands ``danlu algorithm`` and ``danlu dataset``."""

import time
from pathlib import Path
from typing import Any

import click

from danlu.cli import show
from danlu.cli.code import locate, send
from danlu.cli.options import Group
from danlu.cli.request import place_uri
from danlu.cli.session import Session
from danlu.errors import Refused
from danlu.messages import get_message
from danlu.messages.text import size


@click.group("dataset", cls=Group)
def dataset_command() -> None:
    """Name data once and read it with danlu run … --data-url dataset://NAME."""


@dataset_command.command("create")
@click.argument("name")
@click.argument("uri")
@click.option("--description", default="", metavar="TEXT", help="option.dataset_description")
@click.pass_obj
def create_dataset(session: Session, name: str, uri: str, description: str) -> None:
    """Make the next version of data set NAME from what lies at URI, which may be a local path.

    \b
    danlu dataset create mnist obs://bucket/mnist
    """
    place = place_uri(uri)
    if place.startswith("file://") and session.settings.server:
        raise Refused(
            get_message("run.local_elsewhere", path=uri, server=session.settings.server),
            hint=get_message("run.local_elsewhere.hint"),
        )
    view = session.client.datasets.create(name, {"uri": place, "description": description})
    show.made(session, view, "dataset.read_with")


@dataset_command.command("ls")
@click.option("-q", "--quiet", is_flag=True, help="option.quiet")
@click.pass_obj
def list_datasets(session: Session, quiet: bool) -> None:
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
    show.listed(session, found, head, rows, quiet=quiet, none="dataset.none")


@dataset_command.command("show")
@click.argument("reference", metavar="NAME[:VERSION]")
@click.pass_obj
def show_dataset(session: Session, reference: str) -> None:
    """Show a data set, in its newest version by default, and whether it has changed since."""
    view = session.client.datasets.get(reference)
    if session.json:
        session.screen.json(view)
        return
    lines = show.dataset(view, time.time(), session.screen.paint)
    session.screen.data("\n".join(lines))


@dataset_command.command("rm")
@click.argument("references", nargs=-1, required=True, metavar="NAME[:VERSION]...")
@click.pass_obj
def remove_dataset(session: Session, references: tuple[str, ...]) -> None:
    """Forget versions, or all of a NAME. The data stays where it is."""
    for reference in references:
        session.client.datasets.remove(reference)
        show.removed(session, reference)


_FROM_PATH = ("code", "code_origin")


def load(path: Path) -> dict[str, Any]:
    """Return the fields of an algorithm file.

    Raises:
        Refused: it cannot be read, is not TOML, or contains the code, which is an argument.
    """
    import tomllib

    try:
        # Floats stay text: a script must receive a default of 1e-3 as 1e-3, not as 0.001.
        fields: dict[str, Any] = tomllib.loads(path.read_text("utf-8-sig"), parse_float=str)
    except OSError as error:
        raise Refused(get_message("file.unreadable", path=str(path), why=error.strerror)) from None
    except UnicodeDecodeError:
        raise Refused(get_message("file.not_utf8", path=str(path))) from None
    except tomllib.TOMLDecodeError as error:
        raise Refused(get_message("file.not_toml", path=str(path), why=str(error))) from None
    for field in _FROM_PATH:
        if field in fields:
            raise Refused(get_message("algorithm.code_in_file", path=str(path), field=field))
    return fields


@click.group("algorithm", cls=Group)
def algorithm_command() -> None:
    """Define algorithms once and make jobs from them with danlu run --algorithm NAME."""


@algorithm_command.command("create")
@click.argument("name")
@click.argument("path", type=click.Path())
@click.option("--boot-file", default="", help="option.boot_file")
@click.option("--file", "file", type=click.Path(), help="option.algorithm_file")
@click.option("--description", default="", metavar="TEXT", help="option.algorithm_description")
@click.pass_obj
def create_algorithm(
    session: Session, name: str, path: str, boot_file: str, file: str | None, description: str
) -> None:
    """Make the next version of algorithm NAME from the code at PATH.

    \b
    danlu algorithm create mnist code/ --boot-file train.py --file algorithm.toml
    """
    definition: dict[str, Any] = load(Path(file)) if file else {}
    declared = definition.get("boot_file")
    code = locate(path, boot_file or (declared if isinstance(declared, str) else ""))
    uri, code = send(session, code)
    definition |= {"code": uri, "boot_file": code.boot_file}
    if code.folder is not None:
        definition["code_origin"] = code.origin
    if description:
        definition["description"] = description
    view = session.client.algorithms.create(name, definition)
    show.made(session, view, "algorithm.run_with")


@algorithm_command.command("ls")
@click.option("-q", "--quiet", is_flag=True, help="option.quiet")
@click.pass_obj
def list_algorithms(session: Session, quiet: bool) -> None:
    """List algorithms in their newest version."""
    found = session.client.algorithms.list()
    if session.json:
        session.screen.json({"algorithms": found})
        return
    rows = [[view["boot_file"], view["description"]] for view in found]
    head = ("algorithm.boot_file", "definition.description")
    show.listed(session, found, head, rows, quiet=quiet, none="algorithm.none")


@algorithm_command.command("show")
@click.argument("reference", metavar="NAME[:VERSION]")
@click.pass_obj
def show_algorithm(session: Session, reference: str) -> None:
    """Show everything about an algorithm, in its newest version by default."""
    view = session.client.algorithms.get(reference)
    if session.json:
        session.screen.json(view)
        return
    lines = show.algorithm(view, time.time(), session.screen.paint)
    session.screen.data("\n".join(lines))


@algorithm_command.command("rm")
@click.argument("references", nargs=-1, required=True, metavar="NAME[:VERSION]...")
@click.pass_obj
def remove_algorithm(session: Session, references: tuple[str, ...]) -> None:
    """Forget versions, or all of a NAME. Jobs made from them keep their copy."""
    for reference in references:
        session.client.algorithms.remove(reference)
        show.removed(session, reference)
