"""Detection of the TensorFlow version, 1 or 2, that the code of a job was written for.

The user's choice comes first, then the service, then the code. The code is the entry file and the
modules it imports; if those do not mention TensorFlow, all files are read. Names that exist in
only one of the two versions decide. If names of both are found, the version with more names is
chosen, and TensorFlow 1 in a draw. The TensorFlow 1 facade also has the names of TensorFlow 2, but
not the reverse. ``import keras`` was a separate package on TensorFlow 1 until 2020. Code that uses
only ``tf.keras`` runs on TensorFlow 2 with Keras 2. The functions are pure. See
docs/guides/translation.md.
"""

import re
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from danlu.job.spec import TENSORFLOW_1, TENSORFLOW_2
from danlu.usercode.python_text import Import, ImportUse, Reading, read
from danlu.usercode.tensorflow_names import (
    KERAS_SINCE_2020,
    METHODS_ONE,
    METHODS_TWO,
    ONE,
    PACKAGES_ONE,
    TWO,
    TWO_CLASSES,
)

MENTION = re.compile(rb"tensorflow|keras|mox|tf_slim|tflearn|tensorpack|tensor2tensor")

_CLASS = re.compile(rf"({'|'.join(TWO_CLASSES)})\.[A-Z]")
_COMPAT = {"tensorflow.compat.v1": "one", "tensorflow.compat.v2": "two"}
_MODULES = 200  # largest number of files that are read by following imports

Read = Callable[[str], str | None]  # the text of a file by its name; None if it does not exist


@dataclass(frozen=True)
class Sign:
    """A name that indicates a TensorFlow version, and its position."""

    name: str
    file: str
    line: int

    @property
    def shown(self) -> str:
        """The name as scripts write it."""
        below = self.name.removeprefix("tensorflow.")
        return self.name if below == self.name else f"tf.{below}"


@dataclass(frozen=True)
class DetectedVersion:
    """The detected version.

    ``why`` is the kind of the sign: 'one', 'two', 'package', 'keras' or 'import'; empty without a
    sign. ``guessed``: the code has no name of only one TensorFlow version, or names of both.
    """

    version: str = ""
    why: str = ""
    sign: Sign | None = None
    guessed: bool = False


def find(texts: Mapping[str, str], entry: str) -> DetectedVersion:
    """Return the version for the Python files of the code.

    ``entry`` is a file or a dotted module.
    """
    reached = follow(entry, texts.get)
    return decide(reached) or decide(texts) or DetectedVersion()


def follow(entry: str, text_of: Read) -> dict[str, str]:
    """Return the texts of the entry file and of the modules of the code it imports, by name."""
    known = dict.fromkeys([entry] if entry.endswith(".py") else _files(entry.replace(".", "/")))
    todo = deque(known)
    found: dict[str, str] = {}
    while todo and len(found) < _MODULES:
        name = todo.popleft()
        text = text_of(name)
        if text is not None:
            found[name] = text
            new = [n for n in dict.fromkeys(_imported(name, read(text).imports)) if n not in known]
            known.update(dict.fromkeys(new))
            todo += new
    return found


def decide(texts: Mapping[str, str]) -> DetectedVersion | None:
    """Return the version that these files indicate; None if they do not use TensorFlow."""
    signs: dict[str, dict[str, Sign]] = {
        kind: {} for kind in ("one", "two", "package", "keras", "import")
    }
    for file, text in texts.items():
        if MENTION.search(text.encode("utf-8", "replace")):
            for kind, sign in _signs(file, read(text)):
                signs[kind].setdefault(sign.name, sign)
    for kind in _ranked(signs):
        version = TENSORFLOW_2 if kind in ("two", "keras") else TENSORFLOW_1
        guessed = bool(signs["one"]) == bool(signs["two"])
        return DetectedVersion(version, kind, next(iter(signs[kind].values())), guessed)
    return None


def _ranked(signs: Mapping[str, Mapping[str, Sign]]) -> Iterator[str]:
    first = "two" if len(signs["two"]) > len(signs["one"]) else "one"
    return (kind for kind in (first, "package", "keras", "import") if signs[kind])


def _signs(file: str, reading: Reading) -> Iterator[tuple[str, Sign]]:
    about = False
    for use in reading.used():
        kind = _kind(use)
        if kind:
            about = True
            yield kind, Sign(use.path, file, use.line)
    if not about:
        return  # a file without TensorFlow may call .numpy() as well
    for word in reading.methods():
        if word.text in METHODS_ONE:
            yield "one", Sign(f".{word.text}", file, word.line)
        elif word.text in METHODS_TWO:
            yield "two", Sign(f".{word.text}", file, word.line)


def _kind(use: ImportUse) -> str:
    """Return the kind of a name as in :attr:`Found.why`, or ""."""
    if any(_is_below(use.path, name) for name in PACKAGES_ONE):
        return "one"
    for compat, kind in _COMPAT.items():
        # A script that imports compat.v1 as a module uses it throughout. Single uses such as
        # tf.compat.v1.logging indicate nothing, because TensorFlow 2 scripts have them too.
        if _is_below(use.imported, compat):
            return kind
        if _is_below(use.path, compat):
            return "import"
    first, _, below = use.path.partition(".")
    if first == "keras":
        kind = _kind_below(use.path)
        return "package" if kind == "keras" else kind
    return _kind_below(below) if first == "tensorflow" else ""


def _kind_below(path: str) -> str:
    if _is_in(path, ONE):
        return "one"
    if _is_in(path, TWO) or _is_in(path, KERAS_SINCE_2020) or _CLASS.match(path):
        return "two"
    return "keras" if _is_below(path.removeprefix("python."), "keras") else "import"


def _is_below(path: str, name: str) -> bool:
    return path == name or path.startswith(f"{name}.")


def _is_in(path: str, names: Collection[str]) -> bool:
    """Return True if a dotted path or one of its parents is among the names."""
    parts = path.split(".")
    return any(".".join(parts[: end + 1]) in names for end in range(len(parts)))


def _imported(file: str, imports: Iterable[Import]) -> Iterator[str]:
    """Yield the files of the code that these imports of ``file`` may refer to."""
    here = PurePosixPath(file).parent
    for found in imports:
        inside = found.path.replace(".", "/")
        bases = [here, PurePosixPath()]
        if found.level:
            bases = [here.joinpath(*[".."] * (found.level - 1))]
        for base in bases:
            path = _normal(base / inside)
            yield from _files(path)
            yield from _files(path.rpartition("/")[0])  # in `from a import b`, b may be a name in a


def _files(path: str) -> tuple[str, ...]:
    return (f"{path}.py", f"{path}/__init__.py", f"{path}/__main__.py") if path else ()


def _normal(path: PurePosixPath) -> str:
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            del parts[-1:]
        else:
            parts.append(part)
    return "/".join(parts)
