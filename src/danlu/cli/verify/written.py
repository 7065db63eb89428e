"""Pairs the files that two runs wrote, by their names without times and process ids."""

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

_EVENTS = re.compile(r"(events\.out\.tfevents)\.\d+\.[^/]*?(\.v2)?$")
_TIME = re.compile(r"\d{4}(-?)\d\d\1\d\d[-_T]\d\d[-:]?\d\d(?:[-:]?\d\d)?|\d{4}-\d\d-\d\d|\d{10,}")
_RANDOM = re.compile(r"(?<=/tmp/)(tmp)\w{8}(?=/|$)")  # a folder of tempfile
_DATA = re.compile(r"(.*)\.data-\d{5}-of-\d{5}$")
_HDF5 = b"\x89HDF"
_TEXTS = (".txt", ".csv", ".tsv", ".json", ".log", ".yaml", ".yml")
_MOST = 4 << 20  # bytes of a text that is compared


@dataclass(frozen=True)
class Pair:
    """A file of both runs, or of one. ``kind`` is how it is compared; "" if it is not.

    The path of a checkpoint is that of its data without the ending, as TensorFlow names it.
    """

    name: str
    kind: str
    reference: Path | None
    danlu: Path | None


def pairs(reference: Mapping[str, Path], danlu: Mapping[str, Path]) -> list[Pair]:
    """Return every file that one of the runs wrote, in the order of the names."""
    one, other = _named(reference), _named(danlu)
    found = []
    for name in sorted(one.keys() | other.keys()):
        left, right = one.get(name), other.get(name)
        kind = kind_of(name, left or right or Path())
        if kind == "checkpoint":
            left, right = (each and each.with_suffix("") for each in (left, right))
            name = name.removesuffix(".index")
        found.append(Pair(name, kind, left, right))
    return found


def kind_of(name: str, path: Path) -> str:
    """Return how a file is compared: by its name, and by its first bytes."""
    if name.endswith(".index"):
        return "checkpoint"
    if "events.out.tfevents" in os.path.basename(name):
        return "events"
    if name.endswith((".npy", ".npz")):
        return "arrays"
    if _begins_with(path, _HDF5):
        return "hdf5"
    if name.endswith(_TEXTS) and path.stat().st_size <= _MOST:
        return "text"
    return ""


def _named(files: Mapping[str, Path]) -> dict[str, Path]:
    """Return files by their names without what differs in every run.

    Several with one name get a number, in the order of their own names. The data of a checkpoint
    belongs to its index.
    """
    indexes = {name for name in files if name.endswith(".index")}
    kept = [name for name in files if not _is_data(name, indexes)]
    grouped = defaultdict(list)
    for name in sorted(kept):
        grouped[plain(name)].append(files[name])
    found = {}
    for name, paths in grouped.items():
        for number, path in enumerate(paths, 1):
            found[name if len(paths) == 1 else f"{name} ({number})"] = path
    return found


def _is_data(name: str, indexes: Iterable[str]) -> bool:
    match = _DATA.match(name)
    return match is not None and f"{match[1]}.index" in indexes


def plain(name: str) -> str:
    """Return a name without times, hosts and random parts."""
    name = _EVENTS.sub(r"\1\2", name)
    return _TIME.sub("<time>", _RANDOM.sub(r"\1*", name))


def _begins_with(path: Path, mark: bytes) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(mark)) == mark
    except OSError:
        return False
