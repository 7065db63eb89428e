"""A job written down in TOML: the fields of its service, and ``code``, a path or a URI.

Paths are relative to the file. Numbers of ``[parameters]`` reach the script as they were written.
"""

from pathlib import Path
from typing import Any

from danlu.cli.fields import CODES
from danlu.errors import Refused
from danlu.words import say


def load(path: Path) -> dict[str, Any]:
    """Return the fields of a job file.

    Raises:
        Refused: it is not there, or not TOML, or names no code, algorithm or preset model.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise Refused(say("file.unreadable", path=str(path), why=error.strerror)) from None
    except UnicodeDecodeError:
        raise Refused(say("file.not_utf8", path=str(path))) from None
    job = _parse(text, path)
    named = [job[field] for field in CODES if field in job]
    if ("algorithm" in job or "preset" in job) and not named:
        return job
    if len(named) != 1 or not isinstance(named[0], str) or not named[0]:
        raise Refused(say("file.no_code", path=str(path)), hint=say("file.no_code.hint"))
    return job


def _parse(text: str, path: Path) -> dict[str, Any]:
    try:
        import tomllib
    except ModuleNotFoundError:  # Python 3.10
        import tomli as tomllib  # type: ignore[no-redef, import-not-found, unused-ignore]
    try:
        job: dict[str, Any] = tomllib.loads(text, parse_float=_Written)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise Refused(say("file.not_toml", path=str(path), why=str(error))) from None
    parameters = job.get("parameters")
    if isinstance(parameters, dict):
        job["parameters"] = {name: _as_written(value) for name, value in parameters.items()}
    version = job.get("framework_version")
    if isinstance(version, _Written):  # 1.10 is not 1.1
        job["framework_version"] = version.text
    return {name: _plain(value) for name, value in job.items()}


class _Written(float):
    """A number that remembers how it was written: 1e-3 must not reach a script as 0.001."""

    text: str

    def __new__(cls, text: str) -> "_Written":
        number = super().__new__(cls, text)
        number.text = text
        return number


def _as_written(value: Any) -> Any:
    return value.text if isinstance(value, _Written) else value


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, _Written) else value
