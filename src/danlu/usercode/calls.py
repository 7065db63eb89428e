"""The calls and statements in the text of a Python file, as tokens.

Like python_text, this reads Python 2 and files that Python's own parser rejects. The functions are
pure.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from danlu.usercode.python_text import TOKEN

_STRING = re.compile(r"(?is)[rbu]{0,2}('''|\"\"\"|'|\")(.*)\1")
_OPEN, _CLOSE = frozenset("([{"), frozenset(")]}")


@dataclass(frozen=True)
class Token:
    """A token; ``kind`` is 'text' (a string), 'name' (with its dots), 'number' or 'mark'."""

    kind: str
    text: str
    line: int


Argument = tuple[Token, ...]


@dataclass(frozen=True)
class Call:
    """A call.

    ``of``: the name is an attribute of an expression. ``starred``: it has ``*x`` or ``**x``.
    """

    name: str
    line: int
    of: bool = False
    positional: tuple[Argument, ...] = ()
    keywords: Mapping[str, Argument] = field(default_factory=dict)
    starred: bool = False

    @property
    def last(self) -> str:
        """The last part of the dotted name."""
        return self.name.rpartition(".")[2]


def tokens(text: str) -> list[Token]:
    """Return the tokens without white space, comments and newlines."""
    found, line = [], 1
    for match in TOKEN.finditer(text):
        kind, word = match.lastgroup or "", match[0]
        if kind != "blank" and word != "\n":
            found.append(Token(kind, word, line))
        line += word.count("\n")
    return found


def calls(words: Sequence[Token]) -> Iterator[Call]:
    """Yield every call, without ``def`` and ``class`` statements."""
    for at, (name, bracket) in enumerate(pairwise(words)):
        if name.kind != "name" or bracket.text != "(":
            continue
        before = words[at - 1].text if at else ""
        if before not in ("def", "class"):
            yield _call(name, split(words, at + 1), of=before == ".")


def bases(words: Sequence[Token]) -> Iterator[tuple[str, tuple[Argument, ...]]]:
    """Yield name and bases of every class that has parentheses after its name."""
    for at, word in enumerate(words[:-2]):
        if word.text == "class" and words[at + 2].text == "(":
            yield words[at + 1].text, split(words, at + 2)


def signatures(words: Sequence[Token]) -> Iterator[tuple[str, tuple[Argument, ...]]]:
    """Yield name and parameters of every function, each with annotation and default."""
    for at, word in enumerate(words[:-2]):
        if word.text == "def" and words[at + 2].text == "(":
            yield words[at + 1].text, split(words, at + 2)


def split(words: Sequence[Token], at: int) -> tuple[Argument, ...]:
    """Return the comma-separated items in the bracket that opens at ``at``."""
    items: list[list[Token]] = [[]]
    depth = 0
    for word in words[at:]:
        depth += (word.text in _OPEN) - (word.text in _CLOSE)
        if not depth:
            break
        if depth == 1 and word.text == ",":
            items.append([])
        elif depth > 1 or word.text not in _OPEN:
            items[-1].append(word)
    return tuple(tuple(item) for item in items if item)


def literal(argument: Argument) -> str | None:
    """Return the value of one or more adjacent plain strings; None for other expressions.

    A string with a backslash is not a plain string.
    """
    values = []
    for word in argument:
        match = _STRING.fullmatch(word.text) if word.kind == "text" else None
        if match is None or "\\" in match[2]:
            return None
        values.append(match[2])
    return "".join(values) if values else None


def _call(name: Token, arguments: Sequence[Argument], *, of: bool) -> Call:
    positional: list[Argument] = []
    keywords: dict[str, Argument] = {}
    starred = False
    for argument in arguments:
        marks = [word.text for word in argument[:3]]
        if marks[0] == "*":
            starred = True
        elif argument[0].kind == "name" and marks[1:2] == ["="] and marks[2:3] != ["="]:
            keywords[marks[0]] = argument[2:]
        else:
            positional.append(argument)
    return Call(name.text, name.line, of, tuple(positional), keywords, starred)


_COMPOUND = frozenset(
    (
        *("if", "elif", "else", "for", "while", "with", "try", "except", "finally"),
        *("def", "class", "async"),
    )
)
_NAME = re.compile(r"[^\W\d]\w*")
Scope = tuple[str, ...]  # names of the classes and functions around a statement


@dataclass(frozen=True)
class Statement:
    """A statement. The part of a line before the colon of a block is a separate statement."""

    words: tuple[Token, ...]
    scope: Scope
    in_class: bool = False  # directly in a class body: a `def` here is a method
    parts: frozenset[str] = field(default=frozenset(), repr=False)  # of all dotted names

    @property
    def first(self) -> str:
        return self.words[0].text


def statements(text: str) -> Iterator[Statement]:
    around: list[tuple[int, str, str]] = []  # indentation, 'def' or 'class', name
    for column, words in _lines(text):
        while around and around[-1][0] >= column:
            around.pop()
        rest = words
        while rest:
            head, rest = _split(rest)
            scope = tuple(name for _, _, name in around)
            parts = frozenset(part for word in head for part in _parts(word))
            yield Statement(head, scope, bool(around) and around[-1][1] == "class", parts)
            kinds = [word.text for word in head[:2]]
            kind = next((word for word in kinds if word in ("def", "class")), "")
            if kind and len(head) > kinds.index(kind) + 1:
                around.append((column, kind, head[kinds.index(kind) + 1].text))


def _parts(word: Token) -> list[str]:
    if word.kind == "name":
        return word.text.replace("[", ".").rstrip("]").split(".")
    if word.kind != "text":
        return []
    # Names in an f-string, and the name in ``getattr(args, 'name')``.
    return _NAME.findall(word.text) if is_formatted(word) else [word.text.strip("rRbBuU'\"")]


def is_formatted(word: Token) -> bool:
    """Return True if a string token is an f-string."""
    return "f" in word.text[:3].lower().partition("'")[0].partition('"')[0]


def _split(words: tuple[Token, ...]) -> tuple[tuple[Token, ...], tuple[Token, ...]]:
    """Return the tokens before and after the colon of a compound statement."""
    if words[0].text not in _COMPOUND:
        return words, ()
    depth = 0
    for at, word in enumerate(words):
        depth += (word.text in _OPEN) - (word.text in _CLOSE)
        if word.text == ":" and depth == 0 and at:
            return words[:at], words[at + 1 :]
    return words, ()


def _lines(text: str) -> Iterator[tuple[int, tuple[Token, ...]]]:
    """Yield the tokens of each logical line with the column of the first one."""
    found: list[Token] = []
    depth, line, column = 0, 1, 0
    begin = 0  # of the physical line
    for match in TOKEN.finditer(text):
        kind, word = match.lastgroup or "", match[0]
        if word == "\n" or word == ";":
            if not depth and found:
                yield column, _joined(found)
                found = []
        elif kind != "blank":
            if not found:
                column = len(text[begin : match.start()].expandtabs(8))
            if kind == "mark":
                depth = max(0, depth + (word in _OPEN) - (word in _CLOSE))
            found.append(Token(kind, word, line))
        if "\n" in word:
            line += word.count("\n")
            begin = match.start() + word.rfind("\n") + 1
    if found:
        yield column, _joined(found)


def _joined(words: list[Token]) -> tuple[Token, ...]:
    """Return the tokens with ``flags['x']`` joined into one name token."""
    found: list[Token] = []
    for word in words:
        found.append(word)
        if word.text != "]" or len(found) < 4:
            continue
        name, opened, key = found[-4], found[-3], found[-2]
        value = literal((key,))
        if name.kind == "name" and opened.text == "[" and value is not None:
            found[-4:] = [Token("name", f"{name.text}[{value}]", name.line)]
    return tuple(found)


def targets_of(words: Sequence[Token]) -> tuple[list[str], int]:
    """Return the names that a statement assigns to, and where its value begins."""
    depth, end = 0, 0
    for at, word in enumerate(words):
        depth += (word.text in _OPEN) - (word.text in _CLOSE)
        if depth or not at:
            continue
        if word.text == "=" and not _is_compared(words, at):
            end = at
        elif word.text == "in" and words[0].text == "for":
            end = at
            break
    names, annotated = [], False
    for word in words[:end]:
        annotated = (annotated or word.text == ":") and word.text != "="
        if word.kind == "name" and not annotated and word.text not in ("for", "async"):
            names.append(word.text)
    return names, end


def _is_compared(words: Sequence[Token], at: int) -> bool:
    after = words[at + 1].text if at + 1 < len(words) else ""
    return after == "=" or words[at - 1].text in ("=", "!", "<", ">")


def parameters_of(words: Sequence[Token]) -> Iterator[str]:
    """Yield the parameters of a function; ``words`` begin with its bracket."""
    depth = 0
    for at, word in enumerate(words):
        depth += (word.text in _OPEN) - (word.text in _CLOSE)
        if word.kind == "name" and depth == 1 and words[at - 1].text in ("(", ",", "*"):
            yield word.text
