"""Looks at code on this machine, a folder or an archive, as far as its service must be told."""

from collections.abc import Collection
from pathlib import Path, PurePosixPath

from danlu.cli.code import Code
from danlu.cli.evidence import Seen
from danlu.errors import Refused

_FILES, _SIZE, _ALL = 300, 1 << 20, 16 << 20
_UNPACKED, _MEMBERS = 1 << 30, 200_000  # of an archive; the server's own limits are settings


def look(code: Code) -> Seen:
    """Return what can be seen; nothing where the code is elsewhere or cannot be read."""
    path = Path(code.path).expanduser()
    if code.packed:
        return _archive(path)
    if code.folder is None:
        return Seen()
    if path.is_file():
        return Seen(frozenset({path.name}), {path.name: _read(path)}, around=False)
    folder = code.folder
    files = [*sorted(folder.glob("*.py")), *sorted(folder.glob("*/*.py"))][:_FILES]
    names = {file.relative_to(folder).as_posix(): file for file in files}
    texts = {name: _read(file) for name, file in names.items()}
    return Seen(frozenset(names), texts)


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_SIZE).decode("utf-8", "replace")
    except OSError:
        return ""


def _archive(path: Path) -> Seen:
    """Read it as the server will: an archive made to do harm does none here either."""
    from danlu.storage.archive import Limits, check

    room = _Room()
    try:
        with path.open("rb") as file:
            found = check(file, Limits(_UNPACKED, _MEMBERS), room.takes)
    except (OSError, Refused):
        return Seen()  # what is wrong with it is said when it is sent
    start = f"{top}/" if (top := top_of(found.names)) else ""
    texts = {name: data.decode("utf-8", "replace") for name, data in found.kept.items()}
    return Seen(
        frozenset(name.removeprefix(start) for name in found.names),
        {name.removeprefix(start): text for name, text in texts.items() if text},
    )


class _Room:
    """Chooses the Python files near the top, as many as are quickly read."""

    def __init__(self) -> None:
        self._left = _ALL

    def takes(self, name: str, size: int) -> bool:
        near = name.endswith(".py") and len(PurePosixPath(name).parts) <= 3
        if not near or size > min(_SIZE, self._left):
            return False
        self._left -= size
        return True


def top_of(names: Collection[str]) -> str:
    """Return the one folder of a source distribution, as the server finds it."""
    tops = {name.partition("/")[0] for name in names}
    only = next(iter(tops)) if len(tops) == 1 else ""
    return only if f"{only}/setup.py" in names else ""
