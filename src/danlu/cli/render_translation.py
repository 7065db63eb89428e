"""What old code needs as text: for ``danlu check`` before a job, ``danlu show`` after it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from danlu.cli.layout import fields, table
from danlu.words import say

View = Mapping[str, Any]
Paint = Callable[[str, str], str]

KINDS = ("errors", "gone", "missing", "repaired", "mapped", "relaxed")  # the worst first
FAILING = ("errors", "gone", "missing")


def report(view: View, paint: Paint) -> list[str]:
    """Return the lines of ``danlu show --translation``."""
    lines = fields([("TensorFlow", view["tensorflow"])]) if view["tensorflow"] else []
    body = groups(view, paint)
    if not body:
        ending = "translation.none" if view["ended"] else "translation.none_yet"
        return [*lines, say(ending)]
    if view["left_out"]:
        body += ["", say("translation.left_out", count=view["left_out"])]
    return [*lines, *body[0 if lines else 1 :]]


def groups(view: View, paint: Paint) -> list[str]:
    """Return a heading and its notes for every kind there is, each after an empty line."""
    lines: list[str] = []
    for kind in KINDS:
        if notes := view.get(kind):
            style = "red bold" if kind in FAILING else "bold"
            lines += ["", paint(say(f"translation.{kind}"), style), *_notes(notes)]
    return lines


def _notes(notes: Sequence[View]) -> list[str]:
    return table([(f"  {_place(note)}", str(note["text"])) for note in notes])


def _place(note: View) -> str:
    return f"{note['file']}:{note['line']}" if note["file"] and note["line"] else str(note["file"])
