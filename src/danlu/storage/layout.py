"""Where the objects of a tree will lie on disk. Decided, and refused, before a byte is moved."""

from collections.abc import Iterable
from dataclasses import dataclass

from danlu.errors import Refused
from danlu.storage.api import Entry
from danlu.storage.names import is_name


@dataclass(frozen=True)
class Layout:
    """``files`` are pairs of a safe relative path and its object; ``folders`` are empty ones."""

    files: tuple[tuple[str, Entry], ...]
    folders: tuple[str, ...]

    @property
    def size(self) -> int:
        return sum(entry.size for _, entry in self.files)


def lay_out(tree: Iterable[tuple[str, Entry]], uri: str) -> Layout:
    """Give every object its path. No path leads outside, be the keys what they may.

    Empty parts of a key are dropped: scripts write ``out//model``, a disk knows ``out/model``.

    Raises:
        Refused: a key that leads out or that no disk can hold, or two for one path.
    """
    files: dict[str, Entry] = {}
    folders: dict[str, Entry] = {}
    for path, entry in tree:
        steps = [step for step in path.split("/") if step not in ("", ".")]
        for step in steps:
            if not is_name(step):
                raise _refused(entry.key, uri, f"{step!r} cannot be part of a path")
        if path.endswith("/") or not steps:
            if entry.size:
                raise _refused(entry.key, uri, "it has the name of a folder but holds bytes")
            folders["/".join(steps)] = entry
        elif (clash := files.setdefault("/".join(steps), entry)) is not entry:
            raise _refused(entry.key, uri, f"{clash.key!r} has the same path")
    return _settle(files, folders, uri)


def _settle(files: dict[str, Entry], folders: dict[str, Entry], uri: str) -> Layout:
    """Let no file stand where a folder must be."""
    parents = {parent for path in (*files, *folders) for parent in _above(path)}
    for path in (parents | folders.keys()) & files.keys():
        # Some tools mark a folder by an empty object without a slash.
        if files[path].size:
            raise _refused(files[path].key, uri, "there are objects below it, as in a folder")
        del files[path]
    empty = sorted(folders.keys() - parents - {""})
    return Layout(tuple(files.items()), tuple(empty))


def _above(path: str) -> Iterable[str]:
    end = path.rfind("/")
    while end > 0:
        yield path[:end]
        end = path.rfind("/", 0, end)


def _refused(key: str, uri: str, reason: str) -> Refused:
    return Refused(
        f"The object {key!r} of {uri} cannot become a file: {reason}.",
        hint="Rename or remove the object.",
    )
