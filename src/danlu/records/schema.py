"""The tables, and which revision of them this program reads."""

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import Column, Float, Index, Integer, MetaData, Table, Text

from danlu.errors import Refused

# Sorted by its bytes everywhere: PostgreSQL would sort by the language of the database.
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
    Column("document", Text, nullable=False),  # the whole job, as danlu.job.wire tells it
    # A list is chosen inside these; documents are read for the rows of one page only.
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
    Column("document", Text),  # null: removed, so that its number is not given again
)
servers = Table(
    "servers",
    metadata,
    Column("name", Word, primary_key=True),
    Column("fence", Integer, nullable=False),
    Column("until", Float, nullable=False),  # its lease, on the clock of the database
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
    """A row of migrations and the last of them. Revisions are numbers of four digits."""

    migrations: str = "danlu.records:migrations"
    head: str = "0003"


def foreign(place: str, tables: Collection[str], cure: str) -> Refused:
    return Refused(
        f"{place} is a database of another program: it holds {', '.join(sorted(tables))}.",
        hint=cure,
    )


def check_age(place: str, found: object, schema: Schema, cure: str) -> str:
    """Return a revision this program reads, or can bring to its own.

    Raises:
        Refused: a newer program wrote it.
    """
    if not str(found).isdigit() or int(str(found)) > int(schema.head):
        raise Refused(
            f"{place} was written by a newer Danlu: its schema is {found!r}, "
            f"this one reads up to {schema.head!r}.",
            hint=f"Install that version again, or {cure}",
        )
    return str(found)
