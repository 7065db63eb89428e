"""The names and imports of a Python file, found in its text.

Old scripts may be Python 2, mix tabs with spaces or contain full-width punctuation. Neither
Python's parser nor its tokenizer reads them. This module therefore only separates words from
strings and comments. The functions are pure.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

TOKEN = re.compile(
    r"""
    (?P<blank> \#[^\n]* | \\\r?\n | [^\S\n]+ )
  | (?P<text> (?i:[rbuf]{0,2})
        (?: \"{3} (?:\\.|[^\\])*? (?:\"{3}|\Z) | '{3} (?:\\.|[^\\])*? (?:'{3}|\Z)
          | \" (?:\\.|[^\"\\\n])* \"? | ' (?:\\.|[^'\\\n])* '? ) )
  | (?P<name> [^\W\d]\w* (?:\.[^\W\d]\w*)* )
  | (?P<number> \d[\w.]* )
  | (?P<mark> . )
    """,
    re.VERBOSE | re.DOTALL,
)
_OPEN, _CLOSE = frozenset("([{"), frozenset(")]}")
_ENDS = frozenset("\n;:")  # of a statement, outside brackets


@dataclass(frozen=True)
class Word:
    """A name with its dots, or a punctuation mark.

    ``of``: the name is an attribute of the expression before it.
    """

    text: str
    line: int
    of: bool = False


@dataclass(frozen=True)
class Import:
    """An import that binds ``path`` to ``name``; ``level`` is the number of leading dots."""

    path: str
    name: str
    line: int
    level: int = 0


@dataclass(frozen=True)
class ImportUse:
    """A use of an imported name: the path ``imported``, and the attributes ``below`` it."""

    imported: str
    below: str
    line: int

    @property
    def path(self) -> str:
        return ".".join(filter(None, [self.imported, self.below]))


@dataclass(frozen=True)
class Reading:
    """The imports and names of a file."""

    imports: tuple[Import, ...] = ()
    names: tuple[Word, ...] = field(default=(), repr=False)

    @cached_property
    def _aliases(self) -> Mapping[str, str]:
        return {found.name: found.path for found in self.imports if not found.level}

    def used(self) -> Iterator[ImportUse]:
        """Yield every absolute import, and every use of an imported name."""
        for found in self.imports:
            if not found.level:
                yield ImportUse(found.path, "", found.line)
        for word in self.names:
            first, _, rest = word.text.partition(".")
            if not word.of and first in self._aliases:
                yield ImportUse(self._aliases[first], rest, word.line)

    def methods(self) -> Iterator[Word]:
        """Yield the last part of every dotted name, such as a method name."""
        for word in self.names:
            head, _, last = word.text.rpartition(".")
            if head or word.of:
                yield Word(last, word.line)


def read(text: str) -> Reading:
    imports: list[Import] = []
    names: list[Word] = []
    for statement in _statements(text):
        if statement[0].text in ("import", "from"):
            imports += _imports(statement)
        else:
            names += (word for word in statement if word.text[0].isidentifier())
    return Reading(tuple(imports), tuple(names))


def _statements(text: str) -> Iterator[list[Word]]:
    statement: list[Word] = []
    depth = 0
    for word in _words(text):
        if word.text in _OPEN:
            depth += 1
        elif word.text in _CLOSE:
            depth = max(0, depth - 1)
        if word.text in _ENDS and (not depth or word.text == ";"):
            if statement:
                yield statement
            statement = []
        elif word.text != "\n":
            statement.append(word)
    if statement:
        yield statement


def _words(text: str) -> Iterator[Word]:
    line, before = 1, ""
    for found in TOKEN.finditer(text):
        word, kind = found[0], found.lastgroup
        if kind == "name":
            yield Word(word, line, of=before == ".")
        elif kind == "mark":
            yield Word(word, line)
        if kind != "blank":
            before = word
        line += word.count("\n")


def _imports(statement: Sequence[Word]) -> Iterator[Import]:
    """Read ``import a.b as c, d`` or ``from ..a import (b as c, d)``."""
    words = [word for word in statement if word.text not in _OPEN | _CLOSE]
    if words[0].text == "import":
        for path, name, line in _listed(words[1:]):
            # Without `as`, the import binds only the first part of the path.
            first = path.partition(".")[0]
            yield Import(path if name else first, name or first, line)
            if not name and first != path:
                yield Import(path, path, line)
        return
    level = 0
    while len(words) > level + 1 and words[level + 1].text == ".":
        level += 1
    rest = words[level + 1 :]
    base = "" if not rest or rest[0].text == "import" else rest.pop(0).text
    if not rest or rest[0].text != "import":
        return
    for path, name, line in _listed(rest[1:]):
        yield Import(".".join(filter(None, [base, path])), name or path, line, level)


def _listed(words: Sequence[Word]) -> Iterator[tuple[str, str, int]]:
    """Yield path, new name and line of each comma-separated item."""
    items: list[list[Word]] = [[]]
    for word in words:
        if word.text == ",":
            items.append([])
        else:
            items[-1].append(word)
    for item in items:
        if item:
            named = [after.text for word, after in pairwise(item) if word.text == "as"]
            yield item[0].text, named[0] if named else "", item[0].line
