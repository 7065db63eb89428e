"""What a script does with its channels, read from its text: ``data_url``, a directory or a URL?

A channel is a local directory: that suits every script, MoXing's functions included. It is the URL
it was given by only where the code hands it to a copy of MoXing and nothing else takes it as a
path: such a script fetches its data itself, and would copy a directory a second time.
Old scripts may not be Python 3, so tokens are looked at, not a tree. Pure; docs/dialects/dls.md.
"""

import io
import re
import token
import tokenize
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

_COPIES = re.compile(r"(mox|moxing)(\.\w+)*\.file\.copy\w*|(\w+\.)*copy_parallel")
_EITHER = re.compile(
    r"(mox|moxing)\..*|(\w+\.)*(gfile|file_io)\.\w+"  # take URLs and paths alike
    r"|print|(\w+\.)*(logging|logger|log)\.\w+"  # take neither
)
_JOINS = re.compile(r"(os\.path|posixpath)\.(join|normpath)|(\w+\.)*(join|format)|str|")
_FORMATTED = re.compile(r"(?i)r?fr?['\"]")
_STRING_METHODS = ("rstrip", "strip", "lstrip", "replace", "format", "startswith", "endswith")
_ONLY_TESTED = ("if", "elif", "while", "assert", "print")
_OPEN, _CLOSE = frozenset("([{"), frozenset(")]}")


class Kind(Enum):
    COPIES = "copies"
    PATH = "path"


@dataclass(frozen=True)
class Use:
    """``by`` takes the channel at this line; empty where it cannot be told what does."""

    channel: str
    kind: Kind
    file: str
    line: int
    by: str = ""


@dataclass(frozen=True)
class Found:
    """The channels to pass as URLs, and for each channel that MoXing copies a reason."""

    urls: tuple[str, ...] = ()
    reasons: Mapping[str, str] | None = None


def find(texts: Mapping[str, str], channels: Collection[str]) -> Found:
    """Decide for every channel, by the texts of the code's Python files."""
    urls, reasons = [], {}
    uses = [use for name, text in texts.items() for use in uses_in(name, text, channels)]
    for channel in channels:
        copy = _first(uses, channel, Kind.COPIES)
        path = _first(uses, channel, Kind.PATH)
        if copy is None:
            continue
        reasons[channel] = f"{copy.file}:{copy.line} copies it with {copy.by}"
        if path is None:
            urls.append(channel)
        else:
            with_it = f" ({path.by})" if path.by else ""
            reasons[channel] += f", but {path.file}:{path.line} takes it as a path{with_it}"
    return Found(tuple(urls), reasons)


def _first(uses: Sequence[Use], channel: str, kind: Kind) -> Use | None:
    return next((use for use in uses if use.channel == channel and use.kind is kind), None)


def uses_in(file: str, text: str, channels: Collection[str]) -> Iterator[Use]:
    """Yield where a file copies a channel or takes it as a path."""
    if not any(channel in text for channel in channels):
        return
    walk = _Walk(file, channels)
    try:
        for found in tokenize.generate_tokens(io.StringIO(text).readline):
            walk.take(found)
    except (tokenize.TokenError, SyntaxError):
        # What follows is unknown; a directory is right whatever it does.
        walk.found += [Use(name, Kind.PATH, file, walk.line) for name in channels if name in text]
    walk.close()
    yield from walk.found


class _Walk:
    """Goes through the tokens of a file one statement at a time."""

    def __init__(self, file: str, channels: Collection[str]) -> None:
        self.found: list[Use] = []
        self.line = 1
        self._file = file
        self._channels = channels
        self._statement: list[tokenize.TokenInfo] = []

    def take(self, found: tokenize.TokenInfo) -> None:
        self.line = found.start[0]
        if found.type == token.NEWLINE:
            self.close()
        elif found.type not in (token.COMMENT, token.NL, token.INDENT, token.DEDENT):
            self._statement.append(found)

    def close(self) -> None:
        words = [found.string for found in self._statement]
        calls: list[str] = []  # what every open bracket belongs to
        assigned = False
        for at, word in enumerate(words):
            if word in _OPEN:
                calls.append(_dotted(words, at) if word == "(" else "")
            elif word in _CLOSE:
                del calls[-1:]
            elif word == "=" and not calls:
                assigned = True
            elif channel := self._channel(words, at):
                self._judge(channel, words, at, calls, assigned)
        self._statement.clear()

    def _channel(self, words: Sequence[str], at: int) -> str:
        """Return the channel read here, as ``args.data_url`` or ``flags['data_url']``."""
        before = words[at - 1] if at else ""
        if before == "." and words[at] in self._channels:
            return words[at]
        bare = words[at].strip("'\"")
        if before == "[" and at > 1 and bare in self._channels:
            return bare
        if _FORMATTED.match(words[at]):  # one token before Python 3.12
            return next((name for name in self._channels if f".{name}" in words[at]), "")
        return ""

    def _judge(
        self, channel: str, words: Sequence[str], at: int, calls: Sequence[str], assigned: bool
    ) -> None:
        rest = words[at + 1 :]
        if rest[:1] == ["]"]:
            rest = rest[1:]
        if not assigned and rest[:1] == ["="]:
            return  # it is given a new value
        line = self._statement[at].start[0]
        if rest[:1] == ["."] and rest[1] not in _STRING_METHODS:
            self.found.append(Use(channel, Kind.PATH, self._file, line, f".{rest[1]}"))
            return
        taker = next((call for call in reversed(calls) if not _JOINS.fullmatch(call)), None)
        if taker is None:
            if assigned or words[0] not in _ONLY_TESTED:
                self.found.append(Use(channel, Kind.PATH, self._file, line))
        elif _COPIES.fullmatch(taker):
            self.found.append(Use(channel, Kind.COPIES, self._file, line, taker))
        elif not _EITHER.fullmatch(taker):
            self.found.append(Use(channel, Kind.PATH, self._file, line, taker))


def _dotted(words: Sequence[str], at: int) -> str:
    """Return the name called by the bracket at ``at``: 'mox.file.copy'; empty for a group."""
    start = at
    while start and words[start - 1].isidentifier():
        start -= 1
        if not start or words[start - 1] != ".":
            break
        start -= 1
    name = "".join(words[start:at]).lstrip(".")
    return "" if name in _ONLY_TESTED[:4] else name
