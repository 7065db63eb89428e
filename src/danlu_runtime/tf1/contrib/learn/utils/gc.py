"""`tf.contrib.learn.utils.gc`: which exports to keep, and which to delete.

A path is a `Path(path, export_version)`; a filter takes and returns lists of paths.
"""

import collections
import heapq
import os
from collections.abc import Callable, Iterable
from typing import Any

import tensorflow.compat.v1 as tf

Path = collections.namedtuple("Path", ["path", "export_version"])
Filter = Callable[[Iterable[Path]], list[Path]]


def largest_export_versions(n: int) -> Filter:
    """Return a filter that keeps the n newest."""

    def keep(paths: Iterable[Path]) -> list[Path]:
        return sorted(heapq.nlargest(n, paths, key=lambda path: path.export_version))

    return keep


def one_of_every_n_export_versions(n: int) -> Filter:
    """Return a filter that keeps the newest of every n consecutive versions."""

    def keep(paths: Iterable[Path]) -> list[Path]:
        newest: dict[int, Path] = {}
        for path in sorted(paths, key=lambda path: path.export_version):
            # Version n belongs to the first interval, n + 1 to the second.
            newest[max(path.export_version - 1, 0) // n if path.export_version else 0] = path
        return sorted(newest.values())

    return keep


def mod_export_version(n: int) -> Filter:
    """Return a filter that keeps the versions divisible by n."""

    def keep(paths: Iterable[Path]) -> list[Path]:
        return sorted(path for path in paths if path.export_version % n == 0)

    return keep


def union(lf: Filter, rf: Filter) -> Filter:
    """Return a filter that keeps what either keeps."""

    def keep(paths: Iterable[Path]) -> list[Path]:
        paths = list(paths)
        return sorted({*lf(paths), *rf(paths)})

    return keep


def negation(f: Filter) -> Filter:
    """Return a filter that keeps what the other drops."""

    def keep(paths: Iterable[Path]) -> list[Path]:
        paths = list(paths)
        return sorted(set(paths) - set(f(paths)))

    return keep


def get_paths(base_dir: Any, parser: Callable[[Path], Path | None]) -> list[Path]:
    """Return what the parser recognises in a folder; none where there is no folder."""
    base = tf.compat.as_text(base_dir)
    if not tf.gfile.Exists(base):
        return []
    found = []
    for name in tf.gfile.ListDirectory(base):
        # Object stores list folders with a slash.
        parsed = parser(Path(os.path.join(base, name.rstrip("/")), None))
        if parsed:
            found.append(parsed)
    return sorted(found)
