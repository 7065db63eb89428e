"""What is said when PostgreSQL does not answer, or not as it should. A password never is."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

from danlu.errors import Refused, Unavailable
from danlu.settings import hidden_url

# Connection, standby, schema, rights, room, operator.
_CLASSES = ("08", "25006", "3F", "42501", "53", "57", "58")
_CURES = (
    ("authentication failed", "Is the password in records_url right? An @ in it is written %40."),
    (
        "no password supplied",
        "Put the password into records_url: postgresql://user:password@host/…",
    ),
    ("does not exist", "Make it with: createdb --owner USER DATABASE"),
    ("no pg_hba.conf entry", "Let this machine in: a line in the server's pg_hba.conf."),
    (
        "read-only transaction",
        "Name the server that can be written: …?target_session_attrs=primary",
    ),
    ("no schema has been selected", "Make the schema that search_path names: CREATE SCHEMA …"),
    ("No space left", "Make room on the disk of the database server."),
    ("permission denied", "Let the user make tables: ALTER DATABASE … OWNER TO …"),
)


def place_of(url: str) -> str:
    """Return how people are told of a database: its URL without the password and the options."""
    return hidden_url(url).partition("?")[0]


def cause_of(error: DBAPIError) -> str:
    """Return the first line of what the driver says, without its reasons for saying so."""
    text = str(error.orig).strip().splitlines()
    first = text[0] if text else type(error.orig).__name__
    first = re.sub(r"^connection failed: ", "", first)
    return re.sub(r"\b(FATAL|ERROR):\s+", "", first).rstrip(".")


def is_from_outside(error: DBAPIError) -> bool:
    """Constraints and misuse are faults of ours; a lost connection or a full disk are not."""
    if error.connection_invalidated or isinstance(error, OperationalError | InterfaceError):
        return True
    state = getattr(error.orig, "sqlstate", None) or ""
    return state.startswith(_CLASSES)


def hint_of(cause: str) -> str:
    for sign, cure in _CURES:
        if sign in cause:
            return cure
    return "Jobs that run go on. Is the database server up, and can this machine reach it?"


@contextmanager
def refusing(place: str) -> Iterator[None]:
    """Tell whoever starts a server what no waiting will mend."""
    try:
        yield
    except Unavailable as error:
        if not any(sign in error.message for sign, _ in _CURES):
            raise
        cause = error.message.partition("does not answer: ")[2]
        raise Refused(f"{place} cannot be used: {cause}", hint=error.hint) from None
