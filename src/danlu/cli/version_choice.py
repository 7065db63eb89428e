"""TensorFlow 1 or 2 for code on this machine: what a job of it would see, and why."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from danlu.cli.code import Code
from danlu.cli.evidence import Seen
from danlu.errors import Refused
from danlu.job.framework import NOT_OURS, UNDECIDED, parse
from danlu.service import versions
from danlu.words import say

_FILE, _ALL = 256 << 10, 1 << 20  # bytes of text looked at, as a server does
_FOLDERS = 200  # a script may lie in somebody's home
_STARTS = re.compile(r"\bsubprocess\b|\bos\.(system|popen|exec|spawn)")
_PASSED = ("node_modules", "site-packages", "__pycache__", "venv")


@dataclass(frozen=True)
class Choice:
    """``version`` is empty where TensorFlow is left alone."""

    version: str
    why: str


def asked(given: str) -> Choice | None:
    """Return what a person asks for; None where they leave it open.

    Raises:
        Refused: it is no version of TensorFlow 1 or 2.
    """
    if given in ("", UNDECIDED):
        return None
    version = "" if given == NOT_OURS else parse(given)
    if version is None:
        raise Refused(say("version.none_such", version=repr(given)), hint=say("version.hint"))
    return Choice(version, say("version.asked"))


def of_dialect(dialect: str) -> Choice | None:
    """Return what every job of a service has; None where that differs."""
    from danlu import dialects

    fixed = str(getattr(dialects.get(dialect), "TENSORFLOW", "")) if dialect else ""
    return Choice(fixed, say("version.dialect", dialect=dialect)) if fixed else None


def of_code(code: Code, seen: Seen, entry: str) -> Choice:
    """Return what the code itself says; ``entry`` is what would be started, if that is known."""
    path = Path(code.path).expanduser()
    if code.packed or code.folder is None:
        return told(versions.find(seen.texts, entry))
    if path.is_file():
        return of_file(path)
    return told(versions.find(dict(_texts(path)), entry))


def of_file(path: Path) -> Choice:
    """Return what a script and the modules it imports say."""
    return of_entry(path.name, path.parent)


def of_entry(entry: str, folder: Path) -> Choice:
    """Return what a file or module and what it imports say.

    One that starts other programs and says nothing itself is asked by the code around it.
    """
    reached = versions.follow(entry, reader(folder))
    found = versions.decide(reached)
    if found is None and any(_STARTS.search(text) for text in reached.values()):
        found = versions.decide(dict(_texts(folder)))
    return told(found or versions.Found())


def reader(folder: Path) -> versions.Read:
    def read(name: str) -> str | None:
        path = folder / name
        try:
            if not path.is_file() or path.stat().st_size > _FILE:
                return None
            return path.read_bytes().decode("utf-8", "replace")
        except (OSError, ValueError):
            return None

    return read


def told(found: versions.Found) -> Choice:
    if found.sign is None:
        return Choice("", say("version.nothing"))
    place = f"{found.sign.file}:{found.sign.line}"
    return Choice(found.version, say(f"version.{found.why}", place=place, name=found.sign.shown))


def _texts(folder: Path) -> Iterator[tuple[str, str]]:
    read, left = reader(folder), _ALL
    for at, folders, files in islice(os.walk(folder), _FOLDERS):
        folders[:] = sorted(n for n in folders if not n.startswith(".") and n not in _PASSED)
        for file in sorted(name for name in files if name.endswith(".py")):
            name = Path(at, file).relative_to(folder).as_posix()
            text = read(name)
            if text is None or len(text) > left:
                continue
            left -= len(text)
            yield name, text
