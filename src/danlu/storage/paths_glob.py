"""Paths by pattern, part by part; only directories where a pattern asks for it are listed."""

import fnmatch
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from danlu.storage.paths_browse import Child

_MAGIC = re.compile(r"[*?\[]")


@dataclass(frozen=True)
class Matcher:
    """Matches ``scheme://bucket/part/part``; a bucket is no pattern.

    ``hidden``: ``*`` takes names that begin with a dot too, as TensorFlow does and Python does
    not.
    """

    scan: Callable[[str], list[Child]]
    exists: Callable[[str], bool]
    recursive: bool
    hidden: bool

    def paths(self, pattern: str) -> list[str]:
        """Return what matches, sorted, each once."""
        scheme, _, rest = pattern.partition("://")
        bucket, *parts = rest.split("/")
        return sorted(set(self._below(f"{scheme}://{bucket}", parts, sure=False)))

    def _below(self, path: str, parts: list[str], *, sure: bool) -> Iterator[str]:
        """Yield the matches of ``parts`` below ``path``; ``sure``: that is known to be there."""
        while parts and not _MAGIC.search(parts[0]):
            path, parts, sure = f"{path}/{parts[0]}", parts[1:], False
        if not parts:
            if sure or self.exists(path):
                yield path
            return
        part, rest = parts[0], parts[1:]
        if self.recursive and part == "**":
            yield from self._deeply(path, rest)
            return
        for child in self._children(path, directories_only=bool(rest)):
            if fnmatch.fnmatchcase(child.name, part) and self._shown(child.name, part):
                yield from self._below(f"{path}/{child.name}", rest, sure=True)

    def _deeply(self, path: str, rest: list[str]) -> Iterator[str]:
        """Match ``rest`` here and in every directory below; without a rest, all there is."""
        if not rest:
            yield f"{path}/"
        waiting = [path]
        while waiting:
            folder = waiting.pop()
            if rest:
                yield from self._below(folder, rest, sure=True)
            for child in self._children(folder, directories_only=bool(rest)):
                if not self._shown(child.name, "**"):
                    continue
                if child.is_directory:
                    waiting.append(f"{folder}/{child.name}")
                if not rest:
                    yield f"{folder}/{child.name}"

    def _children(self, path: str, *, directories_only: bool) -> list[Child]:
        try:
            found = self.scan(path)
        except (FileNotFoundError, NotADirectoryError):
            return []
        return [child for child in found if child.is_directory or not directories_only]

    def _shown(self, name: str, part: str) -> bool:
        return self.hidden or part.startswith(".") or not name.startswith(".")
