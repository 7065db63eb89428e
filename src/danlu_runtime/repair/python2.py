"""Python 2 source as Python 3 source, by fissix: what a parser is needed for.

Imports of modules that have another name now are left alone: ``danlu_runtime.old`` serves them.
Whole numbers that are divided, and names that are gone, are the matter of ``python2_tree``.
"""

import re
from typing import Any

from danlu_runtime import apart
from danlu_runtime.repair.finding import Finding

INSTALL = "install danlu[tf], which brings fissix, to have Python 2 files read as Python 3"
# The fixers in use, and what each one read otherwise. The others add lines, or guess.
_FIXERS = {
    "apply": "apply(f, …) read as f(…)",
    "basestring": "basestring read as str",
    "dict": "keys(), values(), items() of dictionaries are lists",
    "except": "`except Error, name` read as `except Error as name`",
    "exec": "exec statement read as exec(…)",
    "filter": "filter(…) is a list",
    "funcattrs": "func_name and its like read as __name__ and its like",
    "getcwdu": "os.getcwdu read as os.getcwd",
    "has_key": "d.has_key(k) read as `k in d`",
    "itertools": "izip, imap, ifilter read as zip, map, filter",
    "itertools_imports": "izip, imap, ifilter read as zip, map, filter",
    "long": "long read as int",
    "map": "map(…) is a list",
    "metaclass": "__metaclass__ read as metaclass=…",
    "methodattrs": "im_func and its like read as __func__ and its like",
    "ne": "<> read as !=",
    "next": "it.next() read as next(it)",
    "nonzero": "__nonzero__ read as __bool__",
    "numliterals": "whole numbers such as 0755 and 10L read as 0o755 and 10",
    "paren": "a list of values in a comprehension read with parentheses",
    "print": "print statement read as print(…)",
    "raise": "`raise Error, text` read as `raise Error(text)`",
    "raw_input": "raw_input read as input",
    "renames": "sys.maxint read as sys.maxsize",
    "repr": "`…` in backticks read as repr(…)",
    "standarderror": "StandardError read as Exception",
    "sys_exc": "sys.exc_type and its like read as sys.exc_info()",
    "throw": "g.throw(Error, text) read as g.throw(Error(text))",
    "tuple_params": "a parameter that is a tuple is taken apart in the function",
    "unicode": "unicode read as str",
    "xrange": "xrange read as range",
    "xreadlines": "f.xreadlines() read as f",
    "zip": "zip(…) is a list",
}
# What Python 3 says of Python 2; enough to name the extra where fissix is not installed.
_MESSAGES = re.compile(
    r"Missing parentheses in call to '(print|exec)'|multiple exception types must be"
    r"|leading zeros in decimal integer|invalid decimal literal"
)
_LINES = re.compile(
    r"^\s*print\s+[^=\s(]|^\s*print\s*>>|except\s+[\w.()]+\s*,\s*\w+\s*:|raise\s+[\w.]+\s*,|<>"
    r"|^\s*exec\s+[^=\s(]|`[^`]+`|\b\d+[lL]\b"
)


class NotPython2(Exception):
    """A text that is no Python 2 either; ``line`` is where its parser stopped."""

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
    """fissix 24.4 keeps its grammar below HOME and cannot be imported where that is refused."""
    package = apart.load("fissix")
    try:
        package.CACHE_DIR.mkdir(parents=True, exist_ok=True)
    except OSError:
        tempfile = apart.load("tempfile")
        package.CACHE_DIR = type(package.CACHE_DIR)(tempfile.mkdtemp(prefix="danlu-fissix-"))
    return apart.load("fissix.refactor")


def looks_like(error: SyntaxError) -> bool:
    """Tell whether Python 3 refused what was right in Python 2."""
    return bool(_MESSAGES.match(error.msg or "") or _LINES.search(error.text or ""))


def convert(text: str) -> tuple[str, list[Finding]]:
    """Return the text as Python 3, and what was read otherwise: one finding for each kind.

    Raises:
        NotPython2: it is neither.
        ImportError: fissix is not installed.
    """
    tool = _tool()
    whole = text if text.endswith("\n") else text + "\n"
    changes = _watch(tool)
    try:
        tree = tool.refactor_string(whole, "<string>")
    except apart.load("fissix.pgen2.parse").ParseError as error:
        raise NotPython2(_line(error)) from None
    except (apart.load("fissix.pgen2.tokenize").TokenError, IndentationError) as error:
        raise NotPython2(_line(error)) from None
    return str(tree), [_finding(name, lines) for name, lines in changes.items()]


def _tool() -> Any:
    refactor = _refactor()
    names = [f"fissix.fixes.fix_{name}" for name in _FIXERS]
    for name in names:
        apart.load(name)
    return refactor.RefactoringTool(names)


def _watch(tool: Any) -> dict[str, list[int]]:
    """Return a table that fills with fixer and lines as the tool changes them."""
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
    more = f" (on {count} lines, here first)" if count > 1 else ""
    return Finding(first, f"Python 2: {_FIXERS[name]}{more}")


def _line(error: Exception) -> int:
    context = getattr(error, "context", None)
    if context:
        return int(context[1][0])
    places = (arg for arg in error.args if isinstance(arg, tuple) and len(arg) >= 2)
    found = next((arg for arg in places), (0, 0))
    number = found[0] if isinstance(found[0], int) else found[1]
    return int(number) if isinstance(number, int) else 0
