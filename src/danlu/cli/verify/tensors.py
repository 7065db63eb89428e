"""Reads, restores and compares arrays of two runs, in processes with TensorFlow.

Each side reads its own files and those of the other side. If a script saved a graph beside a
checkpoint, each side also restores the checkpoint of the other side into its own graph; the same
with a Keras model in an HDF5 file.
"""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from danlu.cli.verify.isolated_run import SOURCE
from danlu.cli.verify.written import Pair
from danlu.errors import PlatformError

_PROGRAMS = SOURCE / "danlu_runtime" / "verify"
READ = ("checkpoint", "hdf5", "events", "arrays")
SIDES = ("reference", "danlu")


@dataclass(frozen=True)
class TensorReader:
    """How a process with the TensorFlow of one side is started."""

    start: Sequence[str]
    env: Mapping[str, str]


@dataclass(frozen=True)
class Item:
    """One reading: ``of`` is the side that wrote the file, ``by`` the side that reads it.

    ``kind`` is that of the file, or 'graph' or 'model' for restoring.
    """

    name: str
    kind: str
    of: str
    by: str
    path: Path
    graph: Path | None = None


Comparable = tuple[Item | Path, Item | Path, float]  # with the tolerance


def items(found: Sequence[Pair]) -> list[Item]:
    """Return what has to be read for files that both sides wrote."""
    wanted = []
    for pair in found:
        if pair.kind not in READ or pair.reference is None or pair.danlu is None:
            continue
        paths = {"reference": pair.reference, "danlu": pair.danlu}
        for of in SIDES:
            for by in SIDES:
                if of == by or pair.kind in ("checkpoint", "hdf5"):
                    wanted.append(Item(pair.name, pair.kind, of, by, paths[of]))
                wanted += _restored(pair, of, by, paths)
    return wanted


def _restored(pair: Pair, of: str, by: str, paths: Mapping[str, Path]) -> list[Item]:
    if pair.kind == "hdf5":
        return [Item(pair.name, "model", of, by, paths[of])]
    if pair.kind == "checkpoint" and all(_meta(each).is_file() for each in paths.values()):
        return [Item(pair.name, "graph", of, by, paths[of], paths[by])]
    return []


def _meta(prefix: Path) -> Path:
    return prefix.with_name(f"{prefix.name}.meta")


class TensorFiles:
    """Reads items and compares their arrays; ``folder`` is for the files in between."""

    def __init__(self, folder: Path, readers: Mapping[str, TensorReader]) -> None:
        self._folder = folder
        self._readers = readers
        self._arrays: dict[Item, Path] = {}
        self.errors: dict[Item, str] = {}
        folder.mkdir(parents=True, exist_ok=True)

    def read(self, wanted: Sequence[Item]) -> None:
        """Read every item, all of one side in one process."""
        for side in SIDES:
            own = [item for item in wanted if item.by == side]
            if not own:
                continue
            places = [self._folder / f"{side}-{number}.npz" for number in range(len(own))]
            described = [
                {
                    "kind": item.kind,
                    "path": str(item.path),
                    "to": str(place),
                    **({"graph": str(item.graph)} if item.graph else {}),
                }
                for item, place in zip(own, places, strict=True)
            ]
            errors = self._ask(side, described)
            for item, place, error in zip(own, places, errors, strict=True):
                if error:
                    self.errors[item] = error
                else:
                    self._arrays[item] = place

    def _ask(self, side: str, described: Sequence[Mapping[str, str]]) -> list[str]:
        answer = self._folder / f"{side}.json"
        reader = self._readers[side]
        order = self._folder / f"{side}-order.json"
        order.write_text(json.dumps({"items": list(described), "answer": str(answer)}))
        done = _run([*reader.start, str(_PROGRAMS / "checkpoints.py"), str(order)], reader.env)
        try:
            found: list[str] = json.loads(answer.read_text())
        except (OSError, ValueError):
            last = [line for line in done.stderr.splitlines() if line.strip()][-1:]
            return [*(last or [f"exit {done.returncode}"])] * len(described)
        return found

    def compare(self, wanted: Sequence[Comparable]) -> list[dict[str, Any]]:
        """Return a comparison for each pair of items that were read, or of files."""
        if not wanted:
            return []
        pairs = [
            [str(self._place(one)), str(self._place(other)), tolerance]
            for one, other, tolerance in wanted
        ]
        answer, order = self._folder / "compared.json", self._folder / "compared-order.json"
        order.write_text(json.dumps({"pairs": pairs, "answer": str(answer)}))
        done = _run([sys.executable, "-I", str(_PROGRAMS / "arrays.py"), str(order)], None)
        if done.returncode:
            last = (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]
            raise PlatformError.from_key("verify.not_read", why=last)
        found: list[dict[str, Any]] = json.loads(answer.read_text())
        return found

    def _place(self, what: Item | Path) -> Path:
        return what if isinstance(what, Path) else self._arrays[what]


def _run(argv: Sequence[str], env: Mapping[str, str] | None) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        argv,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
    )
