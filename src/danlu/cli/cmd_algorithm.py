"""danlu algorithm: code with declared inputs, outputs and parameters, to make jobs from."""

import time
from pathlib import Path
from typing import Any

import click

from danlu.cli import render_definition
from danlu.cli.code import locate, send
from danlu.cli.definition_file import load
from danlu.cli.options import Group
from danlu.cli.session import Session


@click.group("algorithm", cls=Group)
def command() -> None:
    """Define algorithms once and make jobs from them with danlu run --algorithm NAME."""


@command.command("create")
@click.argument("name")
@click.argument("path", type=click.Path())
@click.option("--boot-file", default="", help="The file to start, inside a code directory.")
@click.option("--file", "file", type=click.Path(), help="Inputs, outputs and parameters, in TOML.")
@click.option("--description", default="", metavar="TEXT", help="What it is for.")
@click.pass_obj
def create(
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
    render_definition.made(session, view, "algorithm.run_with")


@command.command("ls")
@click.option("-q", "--quiet", is_flag=True, help="Names only.")
@click.pass_obj
def ls(session: Session, quiet: bool) -> None:
    """List algorithms in their newest version."""
    found = session.client.algorithms.list()
    if session.json:
        session.screen.json({"algorithms": found})
        return
    rows = [[view["boot_file"], view["description"]] for view in found]
    head = ("algorithm.boot_file", "definition.description")
    render_definition.listed(session, found, head, rows, quiet=quiet, none="algorithm.none")


@command.command("show")
@click.argument("reference", metavar="NAME[:VERSION]")
@click.pass_obj
def show(session: Session, reference: str) -> None:
    """Show everything about an algorithm, in its newest version unless told."""
    view = session.client.algorithms.get(reference)
    if session.json:
        session.screen.json(view)
        return
    lines = render_definition.algorithm(view, time.time(), session.screen.paint)
    session.screen.data("\n".join(lines))


@command.command("rm")
@click.argument("references", nargs=-1, required=True, metavar="NAME[:VERSION]...")
@click.pass_obj
def rm(session: Session, references: tuple[str, ...]) -> None:
    """Forget versions, or all of a NAME. Jobs made from them keep their copy."""
    for reference in references:
        session.client.algorithms.remove(reference)
        render_definition.removed(session, reference)
