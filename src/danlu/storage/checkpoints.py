"""Selection of the files of an earlier training that the next one needs, without TensorFlow.

These are every ``checkpoint`` state file, the checkpoints it names, and the numbered folders of
exported models. With them, a training resumes, an evaluation finds its checkpoints, and the next
export gets the next number.
"""

import ast
import posixpath
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

STATE = "checkpoint"
_LARGEST = 1 << 20  # max bytes of a state file; each checkpoint takes about a hundred
_STRING = r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'"
_NAMED = re.compile(
    rf"^[ \t]*(?:all_)?model_checkpoint_paths?[ \t]*:[ \t]*({_STRING})", re.MULTILINE
)
# Suffixes of checkpoint files. The last two are of TensorFlow's V1 format; one of them is empty.
_PART = re.compile(r"\.index|\.meta|\.data-\d{5}-of-\d{5}|-\d{5}-of-\d{5}|")
_MODELS = ("saved_model.pb", "saved_model.pbtxt")


def is_state(path: str, size: int) -> bool:
    return posixpath.basename(path) == STATE and size <= _LARGEST


def named(state: bytes) -> list[str]:
    """Return the checkpoint names in a state file, unchanged and without duplicates."""
    found = (_unquoted(match[1]) for match in _NAMED.finditer(state.decode("utf-8", "replace")))
    return list(dict.fromkeys(name for name in found if name))


def _unquoted(text: str) -> str:
    """Return the value of a quoted string of a text-format protocol buffer."""
    try:
        value = ast.literal_eval(f"b{text}" if text.isascii() else text)
    except (ValueError, SyntaxError):
        return ""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


class Files:
    """The file paths of a tree, grouped into checkpoints and exports."""

    def __init__(self, paths: Collection[str]) -> None:
        self._by_folder: dict[str, list[str]] = {}
        self._paths = paths
        for path in paths:
            folder, name = posixpath.split(path)
            self._by_folder.setdefault(folder, []).append(name)

    def checkpoint(self, prefix: str) -> list[str]:
        """Return the files of the checkpoint ``prefix``."""
        folder, name = posixpath.split(prefix)
        return [
            posixpath.join(folder, other)
            for other in self._by_folder.get(folder, ())
            if other.startswith(name) and _PART.fullmatch(other[len(name) :])
        ]

    def resolved(self, state: str, name: str) -> str:
        """Return the path of the checkpoint that a state file names, or "" if it is not here.

        An absolute path or a URL refers to the machine that wrote it. In this case, search for
        its longest existing suffix, first in the folder of the state file.
        """
        folder = posixpath.dirname(state)
        steps = [step for step in name.split("/") if step]
        if not name.startswith("/") and "://" not in name:
            found = posixpath.normpath(posixpath.join(folder, name))
            return found if self.checkpoint(found) else ""
        for top in dict.fromkeys((folder, "")):
            for begin in range(len(steps)):
                found = posixpath.join(top, *steps[begin:])
                if self.checkpoint(found):
                    return found
        return ""

    def exports(self) -> Iterator[str]:
        """Yield every file of the numbered folders that hold an exported model."""
        tops = [
            f"{folder}/"
            for folder, names in self._by_folder.items()
            if posixpath.basename(folder).isdecimal() and any(name in names for name in _MODELS)
        ]
        for path in self._paths:
            if any(path.startswith(top) for top in tops):
                yield path


def to_continue(sizes: Mapping[str, int], read: Callable[[str], bytes | None]) -> set[str]:
    """Return the paths of a tree that the next training needs.

    ``read`` returns the content of a state file.
    """
    files = Files(sizes)
    chosen = set(files.exports())
    for state in (path for path, size in sizes.items() if is_state(path, size)):
        chosen.add(state)
        for prefix in prefixes(files, state, read(state) or b""):
            chosen.update(files.checkpoint(prefix))
    return chosen


def prefixes(files: Files, state_path: str, state: bytes) -> Iterable[str]:
    """Return the checkpoints of the tree that a state file names."""
    return filter(None, (files.resolved(state_path, name) for name in named(state)))


def localized(paths: Collection[str], state_path: str, state: bytes) -> bytes:
    """Return a state file that names its checkpoints relative to its own folder.

    Names of checkpoints that are not in the tree stay unchanged.
    """
    files = Files(paths)
    folder = posixpath.dirname(state_path)

    def relative(match: "re.Match[str]") -> str:
        name = _unquoted(match[1])
        found = files.resolved(state_path, name) if name.startswith("/") or "://" in name else ""
        if not found:
            return match[0]
        near = posixpath.relpath(found, folder or ".")
        quoted = near.replace("\\", "\\\\").replace('"', '\\"')
        return match[0].replace(match[1], f'"{quoted}"')

    return _NAMED.sub(relative, state.decode("utf-8", "surrogateescape")).encode(
        "utf-8", "surrogateescape"
    )
