"""Finds out how a file was meant; pure: bytes in, tree and findings out.

In this order, and each only while the text does not compile: line ends, full-width marks, tabs,
Python 2. A text that compiles is read as Python 2 only on proof.
"""

import ast
import warnings
from typing import NamedTuple

from danlu_runtime.repair import (
    encoding,
    evidence,
    fullwidth,
    keras_imports,
    keyword_hint,
    lines,
    lists,
    python2,
    python2_tree,
    tabs,
)
from danlu_runtime.repair.finding import Finding


class Mended(NamedTuple):
    text: str  # of the file, as it was decoded
    tree: ast.Module
    findings: list[Finding]
    changed: bool  # without it the file is to be compiled as it is
    divides: int  # the first line where whole numbers are divided as in Python 2, 0 for none


class _Draft(NamedTuple):
    """A reading of the text, and what is still wrong with it."""

    text: str
    findings: list[Finding]
    error: SyntaxError | None
    python2: bool = False


def mend(data: bytes, path: str, *, ords: bool = False, keras: bool = False) -> Mended:
    """Read a file as it was meant; ``ords`` and ``keras`` say which readings of TensorFlow 1 apply.

    Raises:
        SyntaxError: Python's own, of the file as it is, when no reading compiles.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the program that is compiled in the end gives them
        text, found = _decoded(data, path)
        draft = _Draft(text, found, _error(text, path))
        if draft.error is not None:
            draft = _read_otherwise(data, draft, path)
        elif _is_python2(text, path):
            draft = _converted(draft, path)
        tree = ast.parse(draft.text, path)
        lines.keep(tree, text, draft.text)
        mapped = keras_imports.rewrite(tree) if keras else []
        mapped += lists.rewrite(tree)
        readings = _readings(tree, draft.python2, ords)
        divides = python2_tree.first_division(tree) if readings.divides else 0
        rewritten, told = python2_tree.rewrite(tree, readings)
    findings = sorted([*draft.findings, *told, *mapped])
    changed = bool(findings) or rewritten or draft.text != text
    return Mended(text, tree, findings, changed, divides)


def _decoded(data: bytes, path: str) -> tuple[str, list[Finding]]:
    try:
        return encoding.decode(data)
    except UnicodeDecodeError:
        compile(data, path, "exec", dont_inherit=True)  # says in which line
        raise


def _error(text: str, path: str) -> SyntaxError | None:
    try:
        compile(text, path, "exec", dont_inherit=True)
    except SyntaxError as error:
        return error.with_traceback(None)
    except ValueError as error:  # null bytes, before Python 3.12
        return SyntaxError(str(error), (path, text.count("\n", 0, text.find("\0")) + 1, 1, ""))
    return None


def _read_otherwise(data: bytes, draft: _Draft, path: str) -> _Draft:
    original = draft.text
    for reading in (_joined, _plain, _indented):
        draft = reading(data, draft, path)
        if draft.error is None:
            return draft
    if not python2.is_installed():
        raise _without_fissix(draft.error)
    try:
        converted = _converted(draft, path)
    except python2.NotPython2 as refusal:
        raise _refused(original, draft, refusal.line, path) from None
    if converted.error is not None:
        raise _refused(original, draft, 0, path)
    return converted


def _joined(data: bytes, draft: _Draft, path: str) -> _Draft:
    joined = encoding.join_doubled_ends(data)
    if joined == data:
        return draft
    text, _ = encoding.decode(joined)
    found = Finding(1, "lines that end with \\r\\r\\n were read as ending once")
    return _Draft(text, [*draft.findings, found], _error(text, path))


def _plain(data: bytes, draft: _Draft, path: str) -> _Draft:
    text, found = fullwidth.to_plain(draft.text)
    if not found:
        return draft
    return _Draft(text, [*draft.findings, *found], _error(text, path))


def _indented(data: bytes, draft: _Draft, path: str) -> _Draft:
    if not isinstance(draft.error, IndentationError) or "\t" not in draft.text:
        return draft
    line = draft.error.lineno or 1
    for width in tabs.WIDTHS:
        text = tabs.expand(draft.text, width)
        error = _error(text, path)
        if not isinstance(error, IndentationError):
            found = Finding(line, f"tabs and spaces are mixed: a tab read as {width} columns")
            return _Draft(text, [*draft.findings, found], error)
    return draft


def _is_python2(text: str, path: str) -> bool:
    proof = evidence.gather(ast.parse(text, path))
    return bool(proof.python2) and not proof.serves_both and not proof.python3


def _converted(draft: _Draft, path: str) -> _Draft:
    if not python2.is_installed():
        return draft._replace(python2=True)  # what needs no parser is done all the same
    text, found = python2.convert(draft.text)
    return _Draft(text, [*draft.findings, *found], _error(text, path), python2=True)


def _readings(tree: ast.Module, is_python2: bool, ords: bool) -> python2_tree.Readings:
    proof = evidence.gather(tree)
    return python2_tree.Readings(
        names=is_python2 or (proof.leftovers and not proof.serves_both),
        whole=is_python2,
        divides=is_python2 and not evidence.has_future(tree, "division"),
        ords=is_python2 or ords,
    )


def _refused(original: str, draft: _Draft, line: int, path: str) -> SyntaxError:
    """Return what is wrong beyond repair, with the user's own line.

    What the repairs that worked have cured is not told: it is not what the user must change.
    ``line`` is where the parser of Python 2 stopped, of a file that is Python 2.
    """
    error = draft.error
    assert error is not None
    judge = _judge
    if line and python2.looks_like(error) and line != error.lineno:
        error = SyntaxError("invalid syntax", (path, line, 1, ""))
        judge = _judge_python2
    meant = keyword_hint.nearest_keyword(draft.text, error.lineno or 0, judge)
    if meant:
        # The words of Python 3.14, which offers the same.
        error.msg = f"{error.msg.rstrip('.')}. Did you mean '{meant}'?"
    written = original.split("\n")
    if draft.text.count("\n") == len(written) - 1 and 0 < (error.lineno or 0) <= len(written):
        error.text = written[(error.lineno or 1) - 1] + "\n"
    return error


def _judge(text: str) -> int:
    error = _error(text, "<text>")
    return 0 if error is None else error.lineno or 1


def _judge_python2(text: str) -> int:
    try:
        python2.convert(text)
    except python2.NotPython2 as refusal:
        return refusal.line or 1
    return 0


def _without_fissix(error: SyntaxError | None) -> SyntaxError:
    assert error is not None
    if python2.looks_like(error):
        error.msg = f"{error.msg.rstrip('.')}. This is Python 2: {python2.INSTALL}"
    return error
