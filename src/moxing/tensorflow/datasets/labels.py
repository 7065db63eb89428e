"""Class labels: ``labels.txt``, and the labels that a run was trained with.

Class numbers without names are a common mistake in serving (manual, pitfall 3-1-1). A data set
therefore records its labels, and ``mox.run`` writes them beside the model.
"""

import json
import re
import weakref
from collections.abc import Iterable, Mapping
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.framework import file

_LINE = re.compile(r"(\d+)\s*:\s*(.*)")
_NEXT = re.compile(r"\s+(?=\d+\s*:\s*\S)")
# The sources and labels recorded for each graph.
_noted: "weakref.WeakKeyDictionary[Any, list[tuple[str, list[str]]]]" = weakref.WeakKeyDictionary()


def read(path: str) -> list[str]:
    """Return the names of a ``labels.txt`` in the order of their numbers.

    Raises:
        ValueError: a line is not ``0: name``, or a number or name is missing or duplicate.
    """
    names: dict[int, str] = {}
    for line in _lines(_text_of(path)):
        found = _LINE.fullmatch(line)
        if not found or not found[2].strip():
            raise ValueError(f"{path}: {line!r} is not a label; write lines such as '0: daisy'.")
        number, name = int(found[1]), found[2].strip()
        if number in names:
            raise ValueError(f"{path}: {number} is both {names[number]!r} and {name!r}.")
        if name in names.values():
            raise ValueError(f"{path}: {name!r} has two numbers.")
        names[number] = name
    missing = sorted(set(range(len(names))) - names.keys())
    if missing:
        raise ValueError(
            f"{path} has {len(names)} labels, which must be numbered from 0 to {len(names) - 1}; "
            f"{missing[0]} is missing."
        )
    return [names[number] for number in range(len(names))]


def _text_of(path: str) -> str:
    data = file.read(path, binary=True)
    try:
        return str(data, "utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} is not text in UTF-8 (byte {error.start}): save it as UTF-8. Editors of "
            "Windows offer that beside the name of the file."
        ) from None


def _lines(text: str) -> list[str]:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    # The documents also show all labels of a multi-label data set in one line.
    return _NEXT.split(lines[0]) if len(lines) == 1 else lines


def agree(listed: Iterable[str], folders: Iterable[str], path: str) -> None:
    """Raise ValueError if ``labels.txt`` and the directories do not name the same classes."""
    listed, folders = set(listed), set(folders)
    if listed == folders:
        return
    parts = [
        f"{what} {', '.join(map(repr, sorted(names)))}"
        for what, names in (
            ("it names no", folders - listed),
            ("no directory is there for", listed - folders),
        )
        if names
    ]
    raise ValueError(
        f"{path} and the directories beside it do not fit: {'; '.join(parts)}. "
        "Write one line for each directory, or remove the file: the sorted names are used then."
    )


def log(labels: Iterable[str]) -> None:
    tf.logging.info("Labels index to name:")
    for index, name in enumerate(labels):
        tf.logging.info("%d: %s", index, name)


def note(source: str, labels: Iterable[str]) -> None:
    """Record the labels of a data set of the current graph.

    A warning is logged if the first data set of the graph has other labels, because the same number
    then means two classes.
    """
    labels = list(labels)
    if not labels:
        return
    noted = _noted.setdefault(tf.get_default_graph(), [])
    for other, names in noted[:1]:
        if names != labels:
            tf.logging.warning(
                "The labels of %s (%s) are not those of %s (%s): the same number means two "
                "classes. Put one labels.txt into both.",
                *(source, _shown(labels), other, _shown(names)),
            )
    noted.append((source, labels))


def labels_of_run(graph: Any = None) -> dict[int, str]:
    """Return number → name of the data sets built in a graph; empty if none has names."""
    noted = _noted.get(graph or tf.get_default_graph())
    return dict(enumerate(noted[0][1])) if noted else {}


def write_labels(log_dir: str, graph: Any = None) -> None:
    """Write ``labels.txt`` and ``labels.json`` of the graph's data sets into ``log_dir``.

    Nothing is written if no data set has names. If ``log_dir`` has other labels, from checkpoints
    of an earlier run, these are logged before they are replaced.
    """
    labels = labels_of_run(graph)
    if not labels:
        return
    folder = log_dir.rstrip("/")
    path, text = f"{folder}/labels.txt", _text(labels)
    file.make_dirs(log_dir)
    before = file.read(path) if file.exists(path) else text
    if before != text:
        tf.logging.warning(
            "The labels are not those %s was trained with before; a checkpoint there takes the "
            "numbers for other classes. They were:\n%s",
            *(log_dir, before.rstrip()),
        )
    file.write(path, text)
    names = {str(index): name for index, name in labels.items()}
    file.write(f"{folder}/labels.json", json.dumps(names, ensure_ascii=False, indent=2) + "\n")


def _text(labels: Mapping[int, str]) -> str:
    return "".join(f"{index}: {name}\n" for index, name in labels.items())


def _shown(labels: list[str]) -> str:
    return ", ".join(labels[:5]) + (", …" if len(labels) > 5 else "")
