"""The code of a job as the service sees it before anything runs: its names, some of its text."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from danlu.service.versions import MENTION
from danlu.storage.archive import Limits, check
from danlu.storage.locate import Location, Stores

_KEPT = 64  # archives kept in mind
_FILE, _ALL = 256 << 10, 1 << 20  # bytes of text looked at


@dataclass(frozen=True)
class Source:
    """``texts`` are the Python files of code that has something to do with TensorFlow."""

    names: frozenset[str] = frozenset()
    texts: Mapping[str, str] = field(default_factory=dict)

    @property
    def top(self) -> str:
        """The one folder everything lies in, if it has a setup.py: a source distribution's."""
        first, *others = {name.partition("/")[0] for name in self.names} or {""}
        return first if not others and f"{first}/setup.py" in self.names else ""


class Sources:
    """Looks at code. An archive named by its content is looked at once."""

    def __init__(self, stores: Stores, limits: Limits) -> None:
        self._stores = stores
        self._limits = limits
        self._known: dict[str, Source] = {}

    def of(self, uri: str) -> Source:
        """Return the code at ``uri``; without names where nothing is there.

        Raises:
            DanluError: it cannot be read, or not used.
        """
        if uri in self._known:
            return self._known[uri]
        location = self._stores.at(uri)
        if not uri.endswith((".tar.gz", ".zip")):
            return self._folder(location)
        if location.storage.stat(location.key) is None:
            return Source()
        room = _Room()
        with location.storage.open(location.key) as file:
            summary = check(file, self._limits, room.takes)
        source = Source(summary.names, _texts(summary.kept))
        if uri.startswith("danlu://code/"):
            self._known[uri] = source
            if len(self._known) > _KEPT:
                self._known.pop(next(iter(self._known)))
        return source

    def _folder(self, location: Location) -> Source:
        room, names, kept = _Room(), [], {}
        for name, entry in location.tree():
            names.append(name)
            if room.takes(name, entry.size):
                with location.storage.open(entry.key) as file:
                    kept[name] = file.read(_FILE)
        return Source(frozenset(names), _texts(kept))


class _Room:
    """Chooses Python files, up to a size that is quickly read."""

    def __init__(self) -> None:
        self._left = _ALL

    def takes(self, name: str, size: int) -> bool:
        if not name.endswith(".py") or size > min(_FILE, self._left):
            return False
        self._left -= size
        return True


def _texts(kept: Mapping[str, bytes]) -> Mapping[str, str]:
    if not any(MENTION.search(data) for data in kept.values()):
        return {}
    return {name: data.decode("utf-8", "replace") for name, data in sorted(kept.items())}


def module_files(module: str) -> Iterable[str]:
    """Return the files a dotted name may stand for."""
    path = module.replace(".", "/")
    return f"{path}.py", f"{path}/__main__.py"
