"""The calls by which a file defines parameters and parses arguments. The functions are pure."""

import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property

from danlu.usercode.calls import Argument, Call, Token, calls, literal, signatures, tokens
from danlu.usercode.python_text import Import, read

STRICT, TOLERANT = ("parse_args", "parse_intermixed_args"), ("parse_known_args",)
FLAG = re.compile(r"DEFINE_\w+")
_ABOUT = re.compile(
    r"[pP]arser|parse_\w*args|add_argument|add_option|DEFINE|argv|\babsl\b|\bclick\b|\bfire\b"
    r"|SystemExit|getopt|docopt|runpy|\bexec(file)?\b|import_module|__import__"
)
_SHOWS = ("print", "join", "info")  # scripts log ' '.join(sys.argv)
_ADDS = ("add_argument", "add_option")
_GUARD = re.compile(r"(?m)^if\s+__name__\s*==")
_LINE = re.compile(r"(\s*)(?:async\s+)?(def\s+(\w+))?")
# Methods of many objects: a call of such a name may refer to any of them.
_COMMON = frozenset(("main", "run", "start"))


class CodeFile:
    """A file that the script runs or imports."""

    def __init__(self, name: str, text: str, is_entry: bool) -> None:
        self.name = name
        self.is_entry = is_entry
        self._lines = text.split("\n")
        self._text = text
        # Skip files that do not handle arguments, which are most files of a large program.
        self.words = tokens(text) if is_entry or _ABOUT.search(text) else []
        self.calls = list(calls(self.words))
        guard = None if is_entry else _GUARD.search(text)
        self._end = text.count("\n", 0, guard.start()) + 1 if guard else sys.maxsize

    @cached_property
    def imports(self) -> Sequence[Import]:
        return read(self._text).imports

    @cached_property
    def aliases(self) -> Mapping[str, str]:
        return {found.name: found.path for found in self.imports if not found.level}

    @cached_property
    def functions(self) -> Mapping[str, tuple[Argument, ...]]:
        return dict(signatures(self.words))

    def path(self, call: Call) -> str:
        """Return the called name with its import alias resolved."""
        first, dot, rest = call.name.partition(".")
        return call.name if call.of else self.aliases.get(first, first) + dot + rest

    def function_at(self, line: int) -> str:
        """Return the name of the function that encloses a line, else ""."""
        match = _LINE.match(self._lines[line - 1])
        depth = len(match[1]) if match else 0
        for text in reversed(self._lines[: line - 1]):
            match = _LINE.match(text)
            if match and text.strip() and len(match[1]) < depth:
                if match[3]:
                    return str(match[3])
                depth = len(match[1])
        return ""

    def runs(self, line: int, called: Collection[str]) -> bool:
        """Return True if a line is executed when the script runs.

        Not every line of an imported file is. ``called`` are the names that other files call.
        """
        if self.is_entry:
            return True
        function = self.function_at(line)
        return line < self._end and (not function or function in self._running(called))

    def _running(self, called: Collection[str]) -> set[str]:
        places = [(c.last, self.function_at(c.line)) for c in self.calls if c.line < self._end]
        found = {"__init__", *called} - _COMMON
        while more := {n for n, place in places if not place or place in found} - found:
            found |= more
        return found


def names_defined_by(call: Call, path: str) -> Iterator[str | None]:
    """Yield the parameter names that a call defines; None for a name generated at run time."""
    if FLAG.fullmatch(call.last):
        name = call.positional[:1] or [
            call.keywords[key] for key in ("name", "flag_name") if key in call.keywords
        ]
        yield literal(name[0]) if name else None
        if "short_name" in call.keywords:
            yield literal(call.keywords["short_name"]) or ""
    elif call.last in _ADDS or path == "click.option":
        for argument in call.positional:
            text = literal(argument)
            if text is None:
                yield None
            elif text.startswith("-"):
                # click: '--shuffle/--no-shuffle'. Short options are names as well.
                yield from (each.strip().lstrip("-") for each in text.split("/"))
        if call.starred:
            yield None


def literal_names(found: Collection[Call]) -> Iterator[str]:
    for call in found:
        path = "click.option" if call.last == "option" else call.name
        yield from (name for name in names_defined_by(call, path) if name)


def reads_command_line(call: Call) -> bool:
    """Return True if the call passes all arguments of the script to a parser or its wrapper."""
    texts = [[word.text for word in each] for each in _given_to(call)]
    return not call.starred and texts in ([], [["sys.argv", "[", "1", ":", "]"]])


def parsing_function(file: CodeFile, call: Call) -> str:
    """Return the name of the function that passes its first parameter to a parser, else "".

    ``def parse_arguments(argv): … return parser.parse_args(argv)`` is such a function.
    """
    given = _given_to(call)
    name = file.function_at(call.line)
    own = [each for each in file.functions.get(name, ()) if each[0].text != "self"]
    if len(given) != 1 or len(given[0]) != 1 or not own:
        return ""
    first, *default = [word.text for word in own[0]]
    return name if first == given[0][0].text and default in ([], ["=", "None"]) else ""


def _given_to(call: Call) -> list[Argument]:
    return [*call.positional, *(v for k, v in call.keywords.items() if k in ("args", "argv"))]


def is_usual(words: list[Token], at: int, functions: Collection[str]) -> bool:
    """Return True if ``sys.argv`` is passed to a parser, printed, or read for the script's name.

    ``functions`` are the names of functions that pass their argument to a parser.
    """
    after = [word.text for word in words[at + 1 : at + 4]]
    if after == ["[", "0", "]"]:
        return True
    if at > 2 and words[at - 1].text == "=":
        at -= 2  # f(argv=sys.argv[1:])
    taker = words[at - 2].text.rpartition(".")[2] if at > 1 and words[at - 1].text == "(" else ""
    return taker in (*STRICT, *TOLERANT, *_SHOWS, "FLAGS", *functions)


def is_parser(argument: Argument) -> bool:
    return len(argument) == 1 and argument[0].kind == "name" and last_part(argument) == "parser"


def last_part(argument: Argument) -> str:
    return argument[-1].text.rpartition(".")[2] if argument else ""


def is_decorated(words: list[Token], function: str) -> bool:
    """Return True if the line before a function may be a decorator."""
    for at, word in enumerate(words[:-1]):
        if word.text == "def" and words[at + 1].text == function:
            lines = [each for each in words[:at] if each.line >= word.line - 1]
            return any(each.text == "@" for each in lines)
    return False
