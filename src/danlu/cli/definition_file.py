"""What an algorithm declares, written down in TOML. Numbers stay as they were written."""

from pathlib import Path
from typing import Any

from danlu.errors import Refused
from danlu.words import say

_FROM_PATH = ("code", "code_origin")


def load(path: Path) -> dict[str, Any]:
    """Return the fields of the file.

    Raises:
        Refused: it is not there, not TOML, or names the code, which is an argument.
    """
    try:
        import tomllib
    except ModuleNotFoundError:  # Python 3.10
        import tomli as tomllib  # type: ignore[no-redef, import-not-found, unused-ignore]
    try:
        # As text: a default of 1e-3 must not reach a script as 0.001.
        fields: dict[str, Any] = tomllib.loads(path.read_text("utf-8-sig"), parse_float=str)
    except OSError as error:
        raise Refused(say("file.unreadable", path=str(path), why=error.strerror)) from None
    except UnicodeDecodeError:
        raise Refused(say("file.not_utf8", path=str(path))) from None
    except tomllib.TOMLDecodeError as error:
        raise Refused(say("file.not_toml", path=str(path), why=str(error))) from None
    for field in _FROM_PATH:
        if field in fields:
            raise Refused(say("algorithm.code_in_file", path=str(path), field=field))
    return fields
