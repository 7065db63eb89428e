"""Repairs a source file; a pure function from bytes to a syntax tree and findings.

Repairs are tried in this order while the text does not compile: line ends, full-width characters,
tabs, Python 2. A text that compiles is read as Python 2 only with evidence.
"""

import ast
import codecs
import difflib
import keyword
import re
import warnings
from collections.abc import Callable, Iterator
from typing import NamedTuple

from danlu.messages import get_message
from danlu_runtime.repair import keras_imports, python2, python2_tree
from danlu_runtime.repair import text as text_repair
from danlu_runtime.repair.text import Finding

_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_BLANK = re.compile(rb"^[ \t\f]*(?:#.*)?$")
_UTF_16 = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


def decode(data: bytes) -> tuple[str, list[Finding]]:
    """Return the text with ``\\n`` line ends, and findings for what had to be guessed.

    Raises:
        UnicodeDecodeError: the bytes are not text in any of the encodings tried.
    """
    for mark, encoding in _UTF_16:
        if data.startswith(mark):
            text = data[len(mark) :].decode(encoding)
            return _tidy(text, [Finding(1, get_message("repair.utf16"))])
    body = data.removeprefix(codecs.BOM_UTF8)
    declared, line = _cookie(body)
    if declared and _known(declared):
        try:
            return _tidy(body.decode(declared), [])
        except UnicodeDecodeError:
            pass
    found = []
    if declared and not _known(declared):
        found.append(Finding(line, get_message("repair.unknown_encoding", declared=declared)))
    try:
        return _tidy(body.decode("utf-8"), found)
    except UnicodeDecodeError as error:
        text = body.decode("gb18030")
        at = body.count(b"\n", 0, error.start) + 1
        return _tidy(text, [Finding(at, get_message("repair.gbk"))])


def _cookie(data: bytes) -> tuple[str, int]:
    """Return the encoding that a file declares (PEP 263) and its line; ("", 0) if none."""
    for number, line in enumerate(data.split(b"\n", 2)[:2], 1):
        match = _COOKIE.match(line)
        if match:
            return match[1].decode("ascii", "replace"), number
        if not _BLANK.match(line.rstrip(b"\r")):
            break
    return "", 0


def _known(encoding: str) -> bool:
    try:
        codecs.lookup(encoding)
    except LookupError:
        return False
    return True


def _tidy(text: str, found: list[Finding]) -> tuple[str, list[Finding]]:
    end = text.rstrip("\x00\x1a")
    if end != text:
        last = end.count("\n") + 1
        found = [*found, Finding(last, get_message("repair.dos_mark"))]
    # The same line ends as in Python's tokenizer.
    return end.replace("\r\n", "\n").replace("\r", "\n"), found


def join_doubled_ends(data: bytes) -> bytes:
    """Return the file with ``\\r\\r\\n``, written by FTP in text mode, as one line end."""
    return data.replace(b"\r\r\n", b"\n")


_WORD = re.compile(r"\w+")
# Words that the conversion to Python 3 adds to a line.
_ADDED = frozenset(("as", "list", "in", "not", "end", "file", "repr", "range", "int", "str"))


def keep(tree: ast.AST, old: str, new: str) -> None:
    """Give every node of the new text's tree its line number in the old text."""
    before, after = old.split("\n"), new.split("\n")
    if before == after:
        return
    origin = _origin(before, after)
    for node in ast.walk(tree):
        for name in ("lineno", "end_lineno"):
            line = getattr(node, name, None)
            if line is not None:
                setattr(node, name, origin[min(line, len(after)) - 1])


def _origin(before: list[str], after: list[str]) -> list[int]:
    """Return for each new line the old line number; an added line gets that of the line above."""
    origin = [0] * len(after)
    old, new = ([_key(line) for line in text] for text in (before, after))
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for kind, first, last, start, end in matcher.get_opcodes():
        for offset in range(end - start):
            if kind == "equal":
                origin[start + offset] = first + offset + 1
            else:
                origin[start + offset] = max(1, min(first + offset + 1, last))
    return origin


def _key(line: str) -> tuple[str, ...]:
    """Return the words of a line that the conversion does not change."""
    return tuple(word for word in _WORD.findall(line) if word not in _ADDED)


_KEYWORD = re.compile(r"[A-Za-z_]\w*")
_NEAR = 0.7
# Returns the line of the first error in a text, 0 for none.
Judge = Callable[[str], int]


def nearest_keyword(text: str, line: int, judge: Judge) -> str:
    """Return a keyword that fixes the line if it replaces a word, "" if there is none."""
    lines = text.split("\n")
    if not 0 < line <= len(lines):
        return ""
    for start, end, candidate in _candidates(lines[line - 1]):
        wrong = lines[line - 1]
        cured = [*lines[: line - 1], wrong[:start] + candidate + wrong[end:], *lines[line:]]
        error = judge("\n".join(cured))
        if not error or error > line:
            return candidate
    return ""


def _candidates(line: str) -> Iterator[tuple[int, int, str]]:
    for match in _KEYWORD.finditer(line):
        word = match[0]
        if keyword.iskeyword(word):
            continue
        near = difflib.get_close_matches(word, keyword.kwlist, n=3, cutoff=_NEAR)
        same_letters = [one for one in keyword.kwlist if sorted(one) == sorted(word.lower())]
        for candidate in dict.fromkeys((*same_letters, *near)):
            yield match.start(), match.end(), candidate


class RepairedSource(NamedTuple):
    text: str  # decoded text of the file
    tree: ast.Module
    findings: list[Finding]
    changed: bool  # False: compile the file unchanged
    divides: int  # the first line with Python 2 integer division, 0 for none


class _Draft(NamedTuple):
    """An intermediate text and its remaining syntax error."""

    text: str
    findings: list[Finding]
    error: SyntaxError | None
    python2: bool = False


def repair_source(
    data: bytes, path: str, *, ords: bool = False, keras: bool = False
) -> RepairedSource:
    """Repair a file; ``ords`` and ``keras`` enable the repairs for TensorFlow 1 scripts.

    Raises:
        SyntaxError: no repair makes the file compile; the error is the remaining one, with the
            user's original line.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the final compilation emits them
        text, found = _decoded(data, path)
        draft = _Draft(text, found, _error(text, path))
        if draft.error is not None:
            draft = _read_otherwise(data, draft, path)
        elif _is_python2(text, path):
            draft = _converted(draft, path)
        tree = ast.parse(draft.text, path)
        keep(tree, text, draft.text)
        mapped = keras_imports.rewrite(tree) if keras else []
        mapped += python2_tree.rewrite_lists(tree)
        readings = _readings(tree, draft.python2, ords)
        divides = python2_tree.first_division(tree) if readings.divides else 0
        rewritten, converted = python2_tree.rewrite(tree, readings)
    findings = sorted([*draft.findings, *converted, *mapped])
    changed = bool(findings) or rewritten or draft.text != text
    return RepairedSource(text, tree, findings, changed, divides)


def _decoded(data: bytes, path: str) -> tuple[str, list[Finding]]:
    try:
        return decode(data)
    except UnicodeDecodeError:
        compile(data, path, "exec", dont_inherit=True)  # raises an error with the line number
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
    joined = join_doubled_ends(data)
    if joined == data:
        return draft
    text, _ = decode(joined)
    found = Finding(1, get_message("repair.double_ends"))
    return _Draft(text, [*draft.findings, found], _error(text, path))


def _plain(data: bytes, draft: _Draft, path: str) -> _Draft:
    text, found = text_repair.to_plain(draft.text)
    if not found:
        return draft
    return _Draft(text, [*draft.findings, *found], _error(text, path))


def _indented(data: bytes, draft: _Draft, path: str) -> _Draft:
    if not isinstance(draft.error, IndentationError) or "\t" not in draft.text:
        return draft
    line = draft.error.lineno or 1
    for width in text_repair.WIDTHS:
        text = text_repair.expand(draft.text, width)
        error = _error(text, path)
        if not isinstance(error, IndentationError):
            found = Finding(line, get_message("repair.tabs", width=width))
            return _Draft(text, [*draft.findings, found], error)
    return draft


def _is_python2(text: str, path: str) -> bool:
    proof = python2_tree.gather(ast.parse(text, path))
    return bool(proof.python2) and not proof.serves_both and not proof.python3


def _converted(draft: _Draft, path: str) -> _Draft:
    if not python2.is_installed():
        return draft._replace(python2=True)  # repairs without a parser are done in any case
    text, found = python2.convert(draft.text)
    return _Draft(text, [*draft.findings, *found], _error(text, path), python2=True)


def _readings(tree: ast.Module, is_python2: bool, ords: bool) -> python2_tree.Readings:
    proof = python2_tree.gather(tree)
    return python2_tree.Readings(
        names=is_python2 or (proof.leftovers and not proof.serves_both),
        whole=is_python2,
        divides=is_python2 and not python2_tree.has_future(tree, "division"),
        ords=is_python2 or ords,
    )


def _refused(original: str, draft: _Draft, line: int, path: str) -> SyntaxError:
    """Return the remaining error with the user's original line.

    Errors that the repairs have fixed are not reported, because the user need not change them.
    ``line`` is where the Python 2 parser stopped, for a file in Python 2.
    """
    error = draft.error
    assert error is not None
    judge = _judge
    if line and python2.looks_like(error) and line != error.lineno:
        error = SyntaxError("invalid syntax", (path, line, 1, ""))
        judge = _judge_python2
    meant = nearest_keyword(draft.text, error.lineno or 0, judge)
    if meant:
        # The wording of Python 3.14, which makes the same suggestion.
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
        error.msg = f"{error.msg.rstrip('.')}. {get_message('python2.install')}"
    return error
