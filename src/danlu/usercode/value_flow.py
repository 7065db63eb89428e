"""Data flow analysis: the calls of a script that receive the value of a flag.

The value is followed through variables, attributes of ``self``, and ``os.path.join`` and other ways
to extend a string. It is also followed through parameters and results of the code's own functions.
The order of statements is ignored: a variable that ever has the value always has it. The functions
are pure.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from danlu.usercode.calls import (
    Scope,
    Statement,
    Token,
    is_formatted,
    literal,
    parameters_of,
    statements,
    targets_of,
)
from danlu.usercode.python_text import read
from danlu.usercode.tensorflow_version import follow

# Functions that accept URLs after `mox.file.shift('os', 'mox')`.
_SHIFTED = re.compile(
    r"open|io\.open|file"
    r"|os\.(?!path\.(?:join|normpath|dirname|split|basename|splitext|expanduser|expandvars)$"
    r"|environ\b|getenv$|putenv$).+"
    r"|glob\.\w+|shutil\.\w+"
)
_ALWAYS = re.compile(
    r"(?:codecs|gzip|bz2|lzma|wave|lmdb|shelve|dbm)\.\w+|(?:zipfile|tarfile|pathlib|tempfile)\..+"
    r"|(?:subprocess|commands|distutils|joblib|cv2|imageio|skimage\.io|scipy\.misc|scipy\.io)\..+"
    r"|(?:Path|PurePath|PosixPath)|h5py\.File|PIL\.Image\.open|Image\.open|sqlite3\.connect"
    r"|numpy\.(?:save\w*|load\w*|genfromtxt|fromfile|memmap)|pandas\.read_\w+|torch\.(?:save|load)"
    r"|(?:tensorboardX|torch\.utils\.tensorboard)\..+|logging\.(?:handlers\.)?\w*FileHandler"
    r"|sys\.path\.\w+"
)
_METHODS = frozenset(
    (
        *("savefig", "imwrite", "imsave", "imread", "save_img", "plot_model", "get_file"),
        *("to_csv", "to_json", "to_pickle", "to_excel", "to_hdf", "tofile", "extractall"),
    )
)
# Objects with a `save` method that writes an image; `saver.save` and `model.save` accept URLs.
_PICTURE = re.compile(r"(?i)(?:.*[._])?(?:im|img|image|pic|picture|canvas|fig)s?\d*")


@dataclass(frozen=True)
class Argument:
    """One argument of a call: full name of the function, and position or keyword."""

    function: str
    index: int = 0
    keyword: str = ""


def needs_path(argument: Argument, *, shifted: bool, pictures: bool) -> bool:
    """Return True if a call needs a local path for this argument.

    ``shifted``: the code calls ``mox.file.shift``. ``pictures``: the file imports PIL.
    """
    name = argument.function
    receiver, _, last = name.rpartition(".")
    if _SHIFTED.fullmatch(name):
        return not shifted
    if _ALWAYS.fullmatch(name) or last in _METHODS:
        return True
    if name == "logging.basicConfig":
        return argument.keyword == "filename"
    if last == "save" and not argument.index and not argument.keyword:
        # In `Image.fromarray(x).save(path)` the receiver has no name.
        return pictures if not receiver else _PICTURE.fullmatch(receiver) is not None
    return False


def full_name(name: str, imported: Mapping[str, str]) -> str:
    """Return the name with its import alias resolved: ``os.path.join`` for ``osp.join``."""
    first, dot, rest = name.partition(".")
    return f"{imported[first]}{dot}{rest}" if first in imported else name


_PASSES = 12  # each pass follows the value through at least one more assignment or call
_OPEN, _CLOSE = frozenset("([{"), frozenset(")]}")
_KEYWORDS = frozenset(
    (
        *("if", "elif", "while", "for", "in", "and", "or", "not", "is"),
        *("return", "assert", "yield", "print", "lambda"),
    )
)
# Calls that return the value, or a result that begins with it.
_LONGER = re.compile(
    r"|str|unicode|os\.fspath|(?:os\.path|posixpath)\.(?:join|normpath|dirname|split|splitext"
    r"|expanduser|expandvars)|(?:.*\.)?(?:join|format|rstrip|lstrip|strip|replace|encode|decode)"
    r"|list|tuple|dict|zip|sorted|enumerate|urljoin|.*\.urljoin"
)
_TESTS = frozenset(("startswith", "endswith", "split", "partition", "rpartition", "find", "count"))
_BY_NAME = frozenset(("get", "pop", "getattr", "get_flag"))
_SELF = ("self", "cls")
_DEFINED = re.compile(r"(?m)^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)")
_MAX_VARIABLES = 300  # variables; a value found in more of them indicates nothing
# Methods of so many objects that a call rarely refers to a function of the code.
_COMMON = frozenset(
    ("get", "set", "run", "save", "write", "read", "add", "append", "update", "open")
)
_IN_BRACES = re.compile(r"\{\s*([^\W\d][\w.]*(?:\[['\"]\w+['\"]\])?)")


@dataclass(frozen=True)
class ValueUse:
    """A call that receives the value; ``by`` is the function as written in the code."""

    file: str
    line: int
    argument: Argument
    by: str


@dataclass(frozen=True)
class _Function:
    file: str
    scope: Scope
    parameters: tuple[str, ...]


_Read = tuple[Statement, list[str], int]  # statement, assignment targets, index of its value


@dataclass
class _Bracket:
    """An open bracket: the function that is called, and the argument that is being read."""

    function: str = ""
    written: str = ""
    index: int = 0
    keyword: str = ""


def calls_with(texts: Mapping[str, str], flag: str) -> list[ValueUse]:
    """Return the calls that receive the value of ``flag``, sorted by file and line."""
    if not any(flag in text for text in texts.values()):
        return []
    return _Flow(texts, flag).uses()


class _Flow:
    """The data flow of one flag.

    Only files that mention the flag or define a function that receives the value are read.
    """

    def __init__(self, texts: Mapping[str, str], flag: str) -> None:
        self._flag = flag
        self._texts = texts
        self._modules = {part.removesuffix(".py") for file in texts for part in file.split("/")}
        self._defined: dict[str, list[str]] = {}  # the files that define a name
        for file, text in texts.items():
            for name in set(_DEFINED.findall(text)):
                self._defined.setdefault(name, []).append(file)
        self._code: dict[str, list[_Read]] = {}
        self._imported: dict[str, Mapping[str, str]] = {}
        self._held: set[tuple[str, Scope, str]] = set()  # file, scope and name of a variable
        self._bound: set[tuple[str, Scope, str]] = set()  # variables that functions assign to
        self._named = {flag}  # parts of names to search for
        self._attributes = {flag}  # of any object: args.train_url
        self._answers: set[str] = set()  # functions that return the value
        self._functions: dict[str, list[_Function]] = {}
        for file, text in texts.items():
            if flag in text:
                self._load(file)

    def uses(self) -> list[ValueUse]:
        for _ in range(_PASSES):
            before = self._known()
            for _ in self._pass():
                pass
            if before == self._known() or len(self._held) > _MAX_VARIABLES:
                break
        return sorted(self._pass(), key=lambda use: (use.file, use.line))

    def _known(self) -> tuple[int, ...]:
        return len(self._code), len(self._held), len(self._answers), len(self._attributes)

    def _load(self, file: str) -> None:
        if file in self._code:
            return
        text = self._texts[file]
        self._imported[file] = {
            found.name: found.path for found in read(text).imports if not found.level
        }
        code = self._code[file] = []
        for statement in statements(text):
            words = statement.words
            targets, begin = targets_of(words)
            code.append((statement, targets, begin))
            if "def" in (word.text for word in words[:2]):
                self._bound |= self._define(file, statement)
            elif any(self._flag in part for part in statement.parts):
                self._option(words)
            for target in targets:
                self._bound.add((file, statement.scope, target))

    def _define(self, file: str, statement: Statement) -> set[tuple[str, Scope, str]]:
        words = statement.words
        at = next(at for at, word in enumerate(words) if word.text == "def") + 1
        if len(words) <= at + 1:
            return set()
        name, parameters = words[at].text, tuple(parameters_of(words[at + 1 :]))
        inner = (*statement.scope, name)
        own = parameters[1:] if statement.in_class and parameters[:1] else parameters
        function = _Function(file, inner, own)
        self._functions.setdefault(name, []).append(function)
        if name == "__init__" and statement.scope:
            self._functions.setdefault(statement.scope[-1], []).append(function)
        return {(file, inner, parameter) for parameter in parameters}

    def _option(self, words: Sequence[Token]) -> None:
        """Record the attribute of ``add_argument('--output', '--train_url', dest='out')``."""
        if not any(word.text.endswith(("add_argument", "add_option")) for word in words):
            return
        given = [literal((word,)) for word in words]
        if f"--{self._flag}" not in given:
            return
        for at, word in enumerate(words[:-2]):
            if word.text == "dest" and words[at + 1].text == "=":
                name = given[at + 2]
                break
        else:
            name = next(text[2:] for text in given if text and text.startswith("--"))
        if name:
            self._attributes.add(name.replace("-", "_"))
            self._named.add(name.replace("-", "_"))

    def _pass(self) -> Iterator[ValueUse]:
        for file, code in list(self._code.items()):
            for statement, targets, begin in code:
                if not statement.parts.isdisjoint(self._named):
                    yield from self._statement(file, statement, targets, begin)

    def _statement(
        self, file: str, statement: Statement, targets: Sequence[str], begin: int
    ) -> Iterator[ValueUse]:
        stack: list[_Bracket] = []
        words = statement.words
        for at, word in enumerate(words):
            if word.text in _OPEN:
                stack.append(self._called(file, words, at) if word.text == "(" else _Bracket())
                if word.text == "(" and stack[-1].function.rpartition(".")[2] in self._answers:
                    yield from self._flows(file, statement, word.line, stack[:-1], targets)
            elif word.text in _CLOSE:
                del stack[-1:]
            elif stack and word.text == ",":
                stack[-1].index, stack[-1].keyword = stack[-1].index + 1, ""
            elif _is_keyword(words, at, stack):
                if statement.first != "def":
                    stack[-1].keyword = word.text
            elif at >= begin and (level := self._has_value(file, statement, words, at, stack)):
                outer = stack[: len(stack) + 1 - level]
                yield from self._flows(file, statement, word.line, outer, targets)

    def _called(self, file: str, words: Sequence[Token], at: int) -> _Bracket:
        if not at or words[at - 1].kind != "name" or words[at - 1].text in _KEYWORDS:
            return _Bracket()
        before = words[at - 2].text if at > 1 else ""
        if before in ("def", "class"):
            return _Bracket("def")
        name = words[at - 1].text.partition("[")[0]
        return _Bracket(name if before == "." else full_name(name, self._imported[file]), name)

    def _has_value(
        self,
        file: str,
        statement: Statement,
        words: Sequence[Token],
        at: int,
        stack: Sequence[_Bracket],
    ) -> int:
        """Return 0 if the word is not the value, else 1.

        Return 2 if the bracket around the word is a part of the expression, as in ``get('flag')``.
        """
        word = words[at]
        if word.kind == "text":
            if literal((word,)) == self._flag and stack:
                by_name = stack[-1].function.rpartition(".")[2] in _BY_NAME
                subscript = not stack[-1].function and at and words[at - 1].text == "["
                return 2 if by_name or (subscript and words[at - 2].text in (")", "]")) else 0
            inside = _IN_BRACES.findall(word.text) if is_formatted(word) else ()
            return int(any(self._is_value(file, statement.scope, name) for name in inside))
        if word.kind != "name" or (statement.first == "def" and at < 3):
            return 0
        return int(self._is_value(file, statement.scope, word.text))

    def _is_value(self, file: str, scope: Scope, name: str) -> bool:
        plain, _, key = name.partition("[")
        parts = plain.split(".")
        if parts[-1] in _TESTS and len(parts) > 1:
            return False
        if key.rstrip("]").strip("'\"") == self._flag or parts[0] == self._flag:
            return True
        if any(part in self._attributes for part in parts[1:]):
            return True
        names = [".".join(parts[:count]) for count in range(len(parts), 0, -1)]
        return any(self._is_held(file, scope, each) for each in (name, *names))

    def _is_held(self, file: str, scope: Scope, name: str) -> bool:
        if name.startswith(tuple(f"{word}." for word in _SELF)):
            return (file, (), name) in self._held
        for size in range(len(scope), -1, -1):
            if (file, scope[:size], name) in self._held:
                return True
            if (file, scope[:size], name) in self._bound and size:
                return False
        return False

    def _flows(
        self,
        file: str,
        statement: Statement,
        line: int,
        stack: Sequence[_Bracket],
        targets: Sequence[str],
    ) -> Iterator[ValueUse]:
        """Follow the value outwards through the brackets around it; yield the call it reaches."""
        for bracket in reversed(stack):
            name = bracket.function
            if name == "def":
                break
            if _LONGER.fullmatch(name):
                continue
            for function in self._own(file, name):
                self._give(function, bracket)
            argument = Argument(name, bracket.index, bracket.keyword)
            yield ValueUse(file, line, argument, bracket.written)
            return
        if statement.first == "return" and statement.scope:
            self._answers.add(statement.scope[-1])
            self._named.add(statement.scope[-1])
        for target in targets:
            self._hold(file, statement.scope, target)

    def _own(self, file: str, name: str) -> Sequence[_Function]:
        """Return the functions of the code that a call may refer to."""
        first, dot, _ = name.partition(".")
        last = name.rpartition(".")[2]
        foreign = {path.partition(".")[0] for path in self._imported[file].values()}
        if first in foreign - self._modules or (dot and last in _COMMON):
            return ()
        for other in self._defined.get(last, ()):
            self._load(other)
        return self._functions.get(last, ())

    def _give(self, function: _Function, bracket: _Bracket) -> None:
        if bracket.keyword:
            names = [bracket.keyword] if bracket.keyword in function.parameters else []
        else:
            names = list(function.parameters[bracket.index : bracket.index + 1])
        for name in names:
            self._hold(function.file, function.scope, name)

    def _hold(self, file: str, scope: Scope, name: str) -> None:
        of_self = name.startswith(tuple(f"{word}." for word in _SELF))
        self._held.add((file, () if of_self else scope, name))
        self._named.add(name.partition("[")[0].rpartition(".")[2])


def _is_keyword(words: Sequence[Token], at: int, stack: Sequence[_Bracket]) -> bool:
    """Return True if a name is a keyword argument, as ``log_dir`` in ``run(log_dir=x)``."""
    if not stack or words[at].kind != "name" or words[at - 1].text not in ("(", ","):
        return False
    after = [word.text for word in words[at + 1 : at + 3]]
    return after[:1] == ["="] and after[1:] != ["="]


# Calls that neither read nor write a place.
_SILENT = re.compile(
    r"print|(\w+\.)*(logging|logger|log)\.\w+|(\w+\.)*DEFINE_\w+|bool|len|repr|type"
)
_READS = re.compile(
    r"latest_checkpoint|get_checkpoint_state|checkpoint_exists|restore|load_variable|load_checkpoint"
    r"|list_variables|NewCheckpointReader|init_from_checkpoint|TFRecordDataset|TFRecordReader"
    r"|tf_record_iterator|TextLineDataset|FixedLengthRecordDataset|list_files|match_filenames_once"
    r"|string_input_producer|read_data_sets|load|load_model|load_weights|loadtxt|genfromtxt|imread"
    r"|read|read_\w+|list_directory|ListDirectory|listdir|[Ee]xists|is_?dir|is_directory|IsDirectory"
    r"|[Gg]lob|[Ww]alk|[Ss]tat"
)
_COPIES = re.compile(r"copy\w*|Copy")  # from the first argument to the second


def only_reads(texts: Mapping[str, str], entry: str, flag: str) -> bool:
    """Return True if the script uses the value of ``flag``, and only in calls that read.

    ``texts`` are all Python files of the code; ``entry`` is a file or a dotted module. Files that
    it does not import are not looked at.
    """
    uses = [use.argument for use in calls_with(follow(entry, texts.get), flag)]
    reported = [use for use in uses if not _SILENT.fullmatch(use.function)]
    return bool(reported) and all(map(_is_read, reported))


def _is_read(use: Argument) -> bool:
    name = use.function.rpartition(".")[2]
    copied_from = _COPIES.fullmatch(name) and use.index == 0 and not use.keyword
    return bool(_READS.fullmatch(name) or copied_from)
