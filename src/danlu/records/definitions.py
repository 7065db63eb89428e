"""Definitions as rows: what each operation on them says to the database."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, func, select

from danlu.job.definition import Definition
from danlu.records.lookup import no_definition
from danlu.records.schema import definitions

_c = definitions.c
_THERE = _c.document.is_not(None)


def add(
    connection: Connection, kind: str, name: str, document: Mapping[str, Any], created: float
) -> Definition:
    """The caller's transaction keeps others from taking the same number."""
    for newest in listed(connection, kind, name)[:1]:
        if newest.document == document:
            return newest
    this = (_c.kind == kind) & (_c.name == name)
    last = connection.scalar(select(func.max(_c.version)).where(this))
    new = Definition(kind, name, (last or 0) + 1, created, document)
    text = json.dumps(document, separators=(",", ":"))
    connection.execute(
        definitions.insert().values(
            kind=kind, name=name, version=new.version, created=created, document=text
        )
    )
    return new


def get(connection: Connection, kind: str, name: str, version: int | None) -> Definition:
    """Raises: NotFound."""
    found = listed(connection, kind, name)
    for definition in found:
        if version in (None, definition.version):
            return definition
    names = connection.scalars(select(_c.name).where(_c.kind == kind, _THERE).distinct())
    raise no_definition(kind, name, version, [d.version for d in found], names)


def listed(connection: Connection, kind: str, name: str) -> Sequence[Definition]:
    wanted = select(definitions).where(_c.kind == kind, _THERE)
    if name:
        wanted = wanted.where(_c.name == name).order_by(_c.version.desc())
    else:
        newest = select(_c.name, func.max(_c.version).label("version"))
        newest_of = newest.where(_c.kind == kind, _THERE).group_by(_c.name).subquery()
        same = (_c.name == newest_of.c.name) & (_c.version == newest_of.c.version)
        wanted = wanted.join(newest_of, same).order_by(_c.name)
    return tuple(
        Definition(row.kind, row.name, row.version, row.created, json.loads(row.document))
        for row in connection.execute(wanted)
    )


def remove(connection: Connection, kind: str, name: str, version: int | None) -> None:
    """Raises: NotFound."""
    get(connection, kind, name, version)
    this = (_c.kind == kind) & (_c.name == name)
    if version is not None:
        this &= _c.version == version
    connection.execute(definitions.update().where(this).values(document=None))
