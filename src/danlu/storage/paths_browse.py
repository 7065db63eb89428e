"""What a directory of a bucket holds: the names directly below a prefix."""

from collections.abc import Iterator
from dataclasses import dataclass

from danlu.storage.api import Browsable, Entry, Storage


@dataclass(frozen=True)
class Child:
    """A name in a directory; a file and a directory may have the same one."""

    name: str
    is_directory: bool
    size: int = 0
    modified: int = 0  # nanoseconds since 1970; 0: not known


def browse(storage: Storage, prefix: str) -> list[Child] | None:
    """Return what is directly below ``prefix``, by name; None where there is no such directory.

    Empty parts of keys are passed over: ``model`` is in ``out`` where its key is ``out//model``.
    """
    found: dict[tuple[str, bool], Child] = {}
    there = False
    waiting = [prefix]
    while waiting:
        folder = waiting.pop()
        for entry in children(storage, folder):
            there = True
            name = entry.key[len(folder) :]
            if name == "/":
                waiting.append(entry.key)
            elif name:
                child = _child(name, entry)
                found.setdefault((child.name, child.is_directory), child)
    return [found[key] for key in sorted(found)] if there else None


def children(storage: Storage, prefix: str) -> Iterator[Entry]:
    """Yield what :meth:`Browsable.children` does, from whatever storage."""
    if isinstance(storage, Browsable):
        yield from storage.children(prefix)
        return
    last = ""
    for entry in storage.list(prefix):
        name, slash, _ = entry.key[len(prefix) :].partition("/")
        folder = f"{prefix}{name}/"
        if not slash:
            yield entry
        elif folder != last:
            yield Entry(folder, 0, "")
            last = folder


def _child(name: str, entry: Entry) -> Child:
    if name.endswith("/"):
        return Child(name[:-1], True)
    return Child(name, False, entry.size, entry.modified)
