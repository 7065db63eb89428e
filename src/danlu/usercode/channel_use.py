"""Decision by the text of a script whether to pass a channel as a directory or as a URL.

``find``: a channel is passed as a local directory, which suits every script and also MoXing's
functions. It is passed as a URL only if the code copies it with MoXing and never uses it as a path.
Such a script fetches its data itself and would copy a directory a second time.

``find_outputs``: an output is passed as a URL, as on DLS, unless a call needs a local path. A
training finds the checkpoints of an earlier job only at the URL.

Old scripts may not be Python 3, so the module reads tokens and not a syntax tree. The functions
are pure. See docs/dialects/dls.md.
"""

import io
import re
import token
import tokenize
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from danlu.messages import get_message
from danlu.usercode import value_flow

_COPIES = re.compile(r"(mox|moxing)(\.\w+)*\.file\.copy\w*|(\w+\.)*copy_parallel")
_EITHER = re.compile(
    r"(mox|moxing)\..*|(\w+\.)*(gfile|file_io)\.\w+"  # accept URLs and paths
    r"|print|(\w+\.)*(logging|logger|log)\.\w+"  # need neither a URL nor a path
)
# Calls that do not affect the decision.
_SILENT = re.compile(
    r"print|(\w+\.)*(logging|logger|log)\.\w+|(\w+\.)*DEFINE_\w+|bool|len|repr|type"
)
_SHIFTS = re.compile(r"\.file\.shift\(")
_PICTURES = re.compile(r"\bPIL\b|\bimport Image\b")
_JOINS = re.compile(r"(os\.path|posixpath)\.(join|normpath)|(\w+\.)*(join|format)|str|")
_FORMATTED = re.compile(r"(?i)r?fr?['\"]")
_STRING_METHODS = ("rstrip", "strip", "lstrip", "replace", "format", "startswith", "endswith")
_ONLY_TESTED = ("if", "elif", "while", "assert", "print")
_OPEN, _CLOSE = frozenset("([{"), frozenset(")]}")


class Kind(Enum):
    COPIES = "copies"
    PATH = "path"


@dataclass(frozen=True)
class ChannelUse:
    """A use of a channel; ``by`` is the function that receives it, empty if unknown."""

    channel: str
    kind: Kind
    file: str
    line: int
    by: str = ""


@dataclass(frozen=True)
class ChannelUses:
    """The channels to pass as URLs, and the reasons of the decisions.

    :func:`find` gives a reason only for channels that the code copies with MoXing.
    """

    urls: tuple[str, ...] = ()
    reasons: Mapping[str, str] | None = None


def find(texts: Mapping[str, str], channels: Collection[str]) -> ChannelUses:
    """Return the channels that the code copies with MoXing and never uses as a path."""
    urls, reasons = [], {}
    uses = [use for name, text in texts.items() for use in uses_in(name, text, channels)]
    for channel in channels:
        copy = _first(uses, channel, Kind.COPIES)
        path = _first(uses, channel, Kind.PATH)
        if copy is None:
            continue
        reasons[channel] = get_message("urls.copied", file=copy.file, line=copy.line, by=copy.by)
        if path is None:
            urls.append(channel)
        else:
            with_it = f" ({path.by})" if path.by else ""
            place = f"{path.file}:{path.line}{with_it}"
            copied = reasons[channel]
            reasons[channel] = get_message("urls.copied_but_path", copied=copied, place=place)
    return ChannelUses(tuple(urls), reasons)


def find_outputs(texts: Mapping[str, str], channels: Collection[str]) -> ChannelUses:
    """Return the outputs to pass as URLs: those that no call needs as a local path."""
    shifted = any(_SHIFTS.search(text) for text in texts.values())
    urls, reasons = [], {}
    for channel in channels:
        uses = value_flow.calls_with(texts, channel)
        path = next((use for use in uses if _needs_path(use, texts, shifted)), None)
        if path is not None:
            reasons[channel] = get_message(
                "urls.needs_path", file=path.file, line=path.line, by=path.by
            )
            continue
        urls.append(channel)
        reasons[channel] = get_message("urls.no_path")
        given = next((use for use in uses if not _SILENT.fullmatch(use.argument.function)), None)
        if given is not None:
            place = f"{given.file}:{given.line}"
            why = reasons[channel]
            reasons[channel] = get_message("urls.passed", place=place, by=given.by, why=why)
    return ChannelUses(tuple(urls), reasons)


def _needs_path(use: value_flow.ValueUse, texts: Mapping[str, str], shifted: bool) -> bool:
    pictures = _PICTURES.search(texts[use.file]) is not None
    return value_flow.needs_path(use.argument, shifted=shifted, pictures=pictures)


def _first(uses: Sequence[ChannelUse], channel: str, kind: Kind) -> ChannelUse | None:
    return next((use for use in uses if use.channel == channel and use.kind is kind), None)


def uses_in(file: str, text: str, channels: Collection[str]) -> Iterator[ChannelUse]:
    """Yield the places where a file copies a channel or uses it as a path."""
    if not any(channel in text for channel in channels):
        return
    walk = _TokenSearch(file, channels)
    try:
        for found in tokenize.generate_tokens(io.StringIO(text).readline):
            walk.take(found)
    except (tokenize.TokenError, SyntaxError):
        # The rest of the file is unknown; a directory suits every script.
        walk.found += [
            ChannelUse(name, Kind.PATH, file, walk.line) for name in channels if name in text
        ]
    walk.close()
    yield from walk.found


class _TokenSearch:
    """Search for uses of channels in the tokens of a file, statement by statement."""

    def __init__(self, file: str, channels: Collection[str]) -> None:
        self.found: list[ChannelUse] = []
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
        calls: list[str] = []  # the function called by each open bracket
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
        if _FORMATTED.match(words[at]):  # an f-string is one token before Python 3.12
            return next((name for name in self._channels if f".{name}" in words[at]), "")
        return ""

    def _judge(
        self, channel: str, words: Sequence[str], at: int, calls: Sequence[str], assigned: bool
    ) -> None:
        rest = words[at + 1 :]
        if rest[:1] == ["]"]:
            rest = rest[1:]
        if not assigned and rest[:1] == ["="]:
            return  # the code assigns a new value to it
        line = self._statement[at].start[0]
        if rest[:1] == ["."] and rest[1] not in _STRING_METHODS:
            self.found.append(ChannelUse(channel, Kind.PATH, self._file, line, f".{rest[1]}"))
            return
        taker = next((call for call in reversed(calls) if not _JOINS.fullmatch(call)), None)
        if taker is None:
            if assigned or words[0] not in _ONLY_TESTED:
                self.found.append(ChannelUse(channel, Kind.PATH, self._file, line))
        elif _COPIES.fullmatch(taker):
            self.found.append(ChannelUse(channel, Kind.COPIES, self._file, line, taker))
        elif not _EITHER.fullmatch(taker):
            self.found.append(ChannelUse(channel, Kind.PATH, self._file, line, taker))


def _dotted(words: Sequence[str], at: int) -> str:
    """Return the function called by the bracket at ``at``, e.g. 'mox.file.copy'; "" for none."""
    start = at
    while start and words[start - 1].isidentifier():
        start -= 1
        if not start or words[start - 1] != ".":
            break
        start -= 1
    name = "".join(words[start:at]).lstrip(".")
    return "" if name in _ONLY_TESTED[:4] else name
