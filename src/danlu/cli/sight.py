"""Looks at code on this machine, a folder or an archive, as far as its service must be told."""

import tarfile
import zipfile
from collections.abc import Collection, Iterator
from pathlib import Path, PurePosixPath

from danlu.cli.code import Code
from danlu.cli.evidence import Seen

_FILES, _SIZE = 300, 1 << 20


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
    try:
        found = dict(_members(path))
    except (OSError, EOFError, ValueError, tarfile.TarError, zipfile.BadZipFile):
        return Seen()  # what is wrong with it is said when it is sent
    top = top_of(found)
    inside = {name.removeprefix(f"{top}/"): text for name, text in found.items()}
    return Seen(frozenset(inside), {name: text for name, text in inside.items() if text})


def _members(path: Path) -> Iterator[tuple[str, str]]:
    """Yield names, and texts of the Python files near the top."""
    if path.name.endswith(".zip"):
        with zipfile.ZipFile(path) as packed:
            for info in packed.infolist()[:_FILES]:
                wanted = _is_wanted(info.filename, info.file_size)
                yield info.filename, packed.read(info).decode("utf-8", "replace") if wanted else ""
        return
    with tarfile.open(path, "r:gz") as archive:
        for number, member in enumerate(archive):
            if number == _FILES:
                return
            name = member.name.removeprefix("./")
            file = archive.extractfile(member) if _is_wanted(name, member.size) else None
            yield name, file.read(_SIZE).decode("utf-8", "replace") if file else ""


def _is_wanted(name: str, size: int) -> bool:
    return name.endswith(".py") and size <= _SIZE and len(PurePosixPath(name).parts) <= 3


def top_of(names: Collection[str]) -> str:
    """Return the one folder of a source distribution, as the server finds it."""
    tops = {name.partition("/")[0] for name in names}
    only = next(iter(tops)) if len(tops) == 1 else ""
    return only if f"{only}/setup.py" in names else ""
