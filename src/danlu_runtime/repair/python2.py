"""Converts Python 2 source to Python 3 with fissix, for repairs that need a parser.

Imports of renamed modules are not changed, because ``danlu_runtime.old`` serves them.
``python2_tree`` handles integer division and removed names.
"""

import re
from typing import Any

from danlu.messages import get_message
from danlu_runtime.repair.text import Finding, describe
from danlu_runtime.start import own_code

# The fixers in use, with what they read as what, or a message key. The others add lines or guess.
_FIXERS: dict[str, str | tuple[str, str]] = {
    "apply": ("apply(f, …)", "f(…)"),
    "basestring": ("basestring", "str"),
    "dict": "python2.dict",
    "except": ("`except Error, name`", "`except Error as name`"),
    "exec": "python2.exec",
    "filter": "python2.filter",
    "funcattrs": "python2.func_name",
    "getcwdu": ("os.getcwdu", "os.getcwd"),
    "has_key": ("d.has_key(k)", "`k in d`"),
    "itertools": ("izip, imap, ifilter", "zip, map, filter"),
    "itertools_imports": ("izip, imap, ifilter", "zip, map, filter"),
    "long": ("long", "int"),
    "map": "python2.map",
    "metaclass": ("__metaclass__", "metaclass=…"),
    "methodattrs": "python2.im_func",
    "ne": ("<>", "!="),
    "next": ("it.next()", "next(it)"),
    "nonzero": ("__nonzero__", "__bool__"),
    "numliterals": "python2.numbers",
    "paren": "python2.paren",
    "print": "python2.print",
    "raise": ("`raise Error, text`", "`raise Error(text)`"),
    "raw_input": ("raw_input", "input"),
    "renames": ("sys.maxint", "sys.maxsize"),
    "repr": "python2.backticks",
    "standarderror": ("StandardError", "Exception"),
    "sys_exc": "python2.exc_type",
    "throw": ("g.throw(Error, text)", "g.throw(Error(text))"),
    "tuple_params": "python2.tuple",
    "unicode": ("unicode", "str"),
    "xrange": ("xrange", "range"),
    "xreadlines": ("f.xreadlines()", "f"),
    "zip": "python2.zip",
}
# Python 3's messages for Python 2 code, to suggest the extra if fissix is not installed.
_MESSAGES = re.compile(
    r"Missing parentheses in call to '(print|exec)'|multiple exception types must be"
    r"|leading zeros in decimal integer|invalid decimal literal"
)
_LINES = re.compile(
    r"^\s*print\s+[^=\s(]|^\s*print\s*>>|except\s+[\w.()]+\s*,\s*\w+\s*:|raise\s+[\w.]+\s*,|<>"
    r"|^\s*exec\s+[^=\s(]|`[^`]+`|\b\d+[lL]\b"
)


class NotPython2(Exception):
    """The text is not Python 2 either; ``line`` is where the parser stopped."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


def is_installed() -> bool:
    try:
        _refactor()
    except ImportError:
        return False
    return True


def _refactor() -> Any:
    """Import ``fissix.refactor``.

    fissix 24.4 caches its grammar below HOME and cannot be imported if that is not writable.
    """
    package: Any = own_code.import_isolated("fissix")
    try:
        package.CACHE_DIR.mkdir(parents=True, exist_ok=True)
    except OSError:
        tempfile = own_code.import_isolated("tempfile")
        package.CACHE_DIR = type(package.CACHE_DIR)(tempfile.mkdtemp(prefix="danlu-fissix-"))
    return own_code.import_isolated("fissix.refactor")


def looks_like(error: SyntaxError) -> bool:
    """Return True if Python 3 rejected something that is valid in Python 2."""
    return bool(_MESSAGES.match(error.msg or "") or _LINES.search(error.text or ""))


def convert(text: str) -> tuple[str, list[Finding]]:
    """Return the text as Python 3, and one finding for each kind of change.

    Raises:
        NotPython2: it is neither.
        ImportError: fissix is not installed.
    """
    tool = _tool()
    whole = text if text.endswith("\n") else text + "\n"
    changes = _watch(tool)
    try:
        tree = tool.refactor_string(whole, "<string>")
    except own_code.import_isolated("fissix.pgen2.parse").ParseError as error:
        raise NotPython2(_line(error)) from None
    except (
        own_code.import_isolated("fissix.pgen2.tokenize").TokenError,
        IndentationError,
    ) as error:
        raise NotPython2(_line(error)) from None
    return str(tree), [_finding(name, lines) for name, lines in changes.items()]


def _tool() -> Any:
    refactor = _refactor()
    names = [f"fissix.fixes.fix_{name}" for name in _FIXERS]
    for name in names:
        own_code.import_isolated(name)
    return refactor.RefactoringTool(names)


def _watch(tool: Any) -> dict[str, list[int]]:
    """Return a dictionary that the tool fills with the changed lines of each fixer."""
    changes: dict[str, list[int]] = {}
    for fixer in (*tool.pre_order, *tool.post_order):
        _watch_one(fixer, changes)
    return changes


def _watch_one(fixer: Any, changes: dict[str, list[int]]) -> None:
    transform = fixer.transform
    name = type(fixer).__module__.rpartition(".fix_")[2]

    def watched(node: Any, results: Any) -> Any:
        first, before = (node.get_lineno() or 1) - node.prefix.count("\n"), str(node)
        new = transform(node, results)
        after = str(node if new is None else new)
        if after != before:
            changes.setdefault(name, []).append(first + _first_change(before, after))
        return new

    fixer.transform = watched


def _first_change(before: str, after: str) -> int:
    pairs = zip(before.split("\n"), after.split("\n"), strict=False)
    return next((number for number, (old, new) in enumerate(pairs) if old != new), 0)


def _finding(name: str, lines: list[int]) -> Finding:
    first, count = min(lines), len(set(lines))
    text = get_message("python2.note", what=describe(_FIXERS[name]))
    if count > 1:
        text = get_message("repair.on_lines", text=text, count=count)
    return Finding(first, text)


def _line(error: Exception) -> int:
    context = getattr(error, "context", None)
    if context:
        return int(context[1][0])
    places = (arg for arg in error.args if isinstance(arg, tuple) and len(arg) >= 2)
    found = next((arg for arg in places), (0, 0))
    number = found[0] if isinstance(found[0], int) else found[1]
    return int(number) if isinstance(number, int) else 0
