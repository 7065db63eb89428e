"""The database tables, and the schema revision that this program reads."""

import logging
from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import (
    Column,
    Float,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
)

from danlu.errors import Refused

# Sorted by bytes in every database. PostgreSQL would sort by the locale of the database.
Word = Text().with_variant(Text(collation="C"), "postgresql")

metadata = MetaData()
jobs = Table(
    "jobs",
    metadata,
    Column("id", Word, primary_key=True),
    Column("name", Word, nullable=False, unique=True),
    Column("state", Word, nullable=False),
    Column("priority", Integer, nullable=False),
    Column("created", Float, nullable=False),
    Column("version", Integer, nullable=False),
    Column("token", Word, unique=True),
    Column("document", Text, nullable=False),  # the whole job as JSON, see danlu.job.wire
    # Lists are filtered with these indexes only. Documents are read for the rows of one page.
    Index("jobs_by_state", "state", "id", "name"),
    Index("jobs_by_id", "id", "name"),
)
definitions = Table(
    "definitions",
    metadata,
    Column("kind", Word, primary_key=True),
    Column("name", Word, primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("created", Float, nullable=False),
    Column("document", Text),  # null: removed; the row stays so that its number is not reused
)
servers = Table(
    "servers",
    metadata,
    Column("name", Word, primary_key=True),
    Column("fence", Integer, nullable=False),
    Column("until", Float, nullable=False),  # end of its lease, on the clock of the database
    Column("host", Text, nullable=False),
    Column("executor", Text, nullable=False),
    Column("url", Text, nullable=False),
)
agreements = Table(
    "agreements",
    metadata,
    Column("name", Word, primary_key=True),
    Column("value", Text, nullable=False),
)


@dataclass(frozen=True)
class Schema:
    """A sequence of migrations and its last revision. Revisions are four-digit numbers."""

    migrations: str = "danlu.records:migrations"
    head: str = "0003"


def foreign(place: str, tables: Collection[str], hint: str) -> Refused:
    return Refused.from_key(
        "records.foreign", place=place, tables=", ".join(sorted(tables)), hint=hint
    )


def check_age(place: str, found: object, schema: Schema, hint: str) -> str:
    """Return ``found`` if this program can read or upgrade the revision.

    Raises:
        Refused: a newer version of Danlu wrote the database.
    """
    if not str(found).isdigit() or int(str(found)) > int(schema.head):
        raise Refused.from_key(
            "records.newer", place=place, found=found, head=schema.head, hint=hint
        )
    return str(found)


log = logging.getLogger(__name__)
