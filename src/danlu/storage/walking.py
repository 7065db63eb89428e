"""Walking through folders a script has made: however deep they are, Python's stack is not."""

import os
from collections.abc import Iterator

Step = tuple[str, list[str], list[str]]


def walk(top: str | os.PathLike[str], deepest: int | None = None) -> Iterator[Step]:
    """Yield path, folders and files as ``os.walk`` does: each folder before those in it.

    Links to folders are among the folders and are not followed; what cannot be read is passed
    over, and so is what lies more than ``deepest`` folders below. The caller may change the list
    of folders.
    """
    waiting = [(os.fspath(top), 0)]
    while waiting:
        path, depth = waiting.pop()
        found = _entries(path)
        if found is None:
            continue
        folders, files, links = found
        yield path, folders, files
        if deepest is None or depth < deepest:
            inner = (os.path.join(path, name) for name in reversed(folders) if name not in links)
            waiting += [(folder, depth + 1) for folder in inner]


def walk_up(top: str | os.PathLike[str]) -> Iterator[Step]:
    """Yield the same, each folder after those in it."""
    return reversed(list(walk(top)))


def _entries(path: str) -> tuple[list[str], list[str], set[str]] | None:
    folders, files, links = [], [], set()
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                if _is_folder(entry):
                    folders.append(entry.name)
                    if entry.is_symlink():
                        links.add(entry.name)
                else:
                    files.append(entry.name)
    except OSError:
        return None  # gone, closed to us, or a path longer than the kernel takes
    return folders, files, links


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False
