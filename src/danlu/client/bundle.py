"""Selection of the files that belong to a job's code, and a reproducible archive of them.

Equal files give byte-identical archives. A directory is packed whole, except for ignored files. A
single file is packed with the modules it imports and the small files next to it.
"""

import ast
import os
import stat
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from danlu.errors import Refused
from danlu.settings import MiB, Settings

if TYPE_CHECKING:
    from tarfile import TarFile


FILE = ".danluignore"
ALWAYS = (
    ".danlu",
    ".git",
    ".hg",
    ".svn",
    "__pycache__",
    "*.pyc",
    ".venv",
    "venv",
    "node_modules",
    ".ipynb_checkpoints",
    ".DS_Store",
    "*.egg-info",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    FILE,
)


class _Pattern(NamedTuple):
    """One ignore pattern, a line of ``.danluignore``.

    ``*.log`` matches at any depth, ``/data`` or ``a/b`` from the top, and ``data/`` matches only
    directories. ``!keep.log`` cancels the effect of an earlier line.
    """

    glob: str
    from_top: bool
    folders_only: bool
    keeps: bool

    def matches(self, path: PurePosixPath, *, folder: bool) -> bool:
        if self.folders_only and not folder:
            return False
        return fnmatchcase(str(path) if self.from_top else path.name, self.glob)


class Ignored:
    def __init__(self, lines: Sequence[str] = ()) -> None:
        self._patterns = [_pattern(line) for line in (*ALWAYS, *lines)]

    @classmethod
    def of(cls, root: Path) -> "Ignored":
        """Return the ignore patterns of ``root``: the built-in ones and its ``.danluignore``."""
        try:
            lines = (root / FILE).read_text(encoding="utf-8-sig").splitlines()
        except FileNotFoundError:
            lines = []
        return cls([line.strip() for line in lines if line.strip() and line[0] != "#"])

    def file(self, path: PurePosixPath) -> bool:
        return self._ignores(path, folder=False)

    def folder(self, path: PurePosixPath) -> bool:
        return self._ignores(path, folder=True)

    def _ignores(self, path: PurePosixPath, *, folder: bool) -> bool:
        ignored = False
        for pattern in self._patterns:
            if ignored == pattern.keeps and pattern.matches(path, folder=folder):
                ignored = not pattern.keeps
        return ignored


def _pattern(line: str) -> _Pattern:
    keeps = line.startswith("!")
    text = line.removeprefix("!")
    folders_only = text.endswith("/")
    text = text.rstrip("/")
    from_top = "/" in text
    return _Pattern(text.removeprefix("/"), from_top, folders_only, keeps)


_SMALL, _SMALL_TOGETHER = 1 * MiB, 20 * MiB
_SHOWN = 5


class Bundle(NamedTuple):
    """The files of a job's code.

    ``files`` are relative to ``root``, in a reproducible order. ``entry`` is the script if a
    single file was selected, otherwise empty.
    """

    root: Path
    files: tuple[PurePosixPath, ...]
    entry: str = ""
    # For a single file: files next to it that are too large. For a directory: its data
    # directories.
    left_out: tuple[PurePosixPath, ...] = ()


def select(path: Path, limits: Settings, without: Sequence[Path] = ()) -> Bundle:
    """Return the files that belong to the code at ``path``.

    Directories in ``without`` contain data and are left out.

    Raises:
        Refused: ``path`` does not exist or contains no file, a symbolic link leads outside or to
            a directory, or the code exceeds ``code_limit`` (the message lists the largest files)
            or ``code_files``.
    """
    if path.is_dir():
        bundle = _directory(path, without)
    elif path.is_file():
        bundle = _single(path)
    else:
        raise Refused.from_key("bundle.not_there", path=os.fspath(path))
    _check(bundle, limits)
    return bundle


def _directory(path: Path, without: Sequence[Path]) -> Bundle:
    root = path.resolve()
    data = [
        PurePosixPath(folder.resolve().relative_to(root).as_posix())
        for folder in without
        if folder.resolve() != root and folder.resolve().is_relative_to(root)
    ]
    found = _walk(path, Ignored.of(path))
    kept = tuple(name for name in found if not any(name.is_relative_to(d) for d in data))
    return Bundle(path, kept, left_out=tuple(d for d in data if (path / d).exists()))


@contextmanager
def packed(bundle: Bundle) -> Iterator[BinaryIO]:
    """Yield a new .tar.gz as a file object at position 0.

    The file has no name, so the kernel deletes it however this process ends.
    """
    import gzip
    import tarfile
    import tempfile

    with tempfile.TemporaryFile() as raw:
        with (
            # The archive has no time stamp and no file name, so equal files give equal archives.
            gzip.GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=0) as zipped,
            tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as archive,
        ):
            for file in bundle.files:
                _add(archive, bundle.root / file, file.as_posix())
        raw.seek(0)
        yield raw


def _add(archive: "TarFile", path: Path, name: str) -> None:
    import tarfile

    with open(path, "rb") as file:
        about = os.fstat(file.fileno())
        member = tarfile.TarInfo(name)
        member.size = about.st_size
        member.mode = 0o755 if about.st_mode & stat.S_IXUSR else 0o644
        archive.addfile(member, file)


def _walk(root: Path, ignored: Ignored) -> Iterator[PurePosixPath]:
    inside = root.resolve()
    for folder, folders, files in os.walk(root):
        here = PurePosixPath(Path(folder).relative_to(root).as_posix())
        linked = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        folders[:] = sorted(
            name for name in folders if name not in linked and not ignored.folder(here / name)
        )
        for name in sorted([*files, *linked]):
            if not ignored.file(here / name) and not ignored.folder(here / name):
                yield from _taken(Path(folder, name), here / name, inside)


def _taken(path: Path, name: PurePosixPath, inside: Path) -> Iterator[PurePosixPath]:
    """Yield ``name`` if ``path`` is a regular file, or a link to a file inside the code.

    Raises:
        Refused: the link leads outside the code, or to a directory.
    """
    if path.is_symlink():
        target = path.resolve()
        if not target.is_relative_to(inside):
            raise Refused.from_key(
                "bundle.link_outside", path=os.fspath(path), target=os.fspath(target)
            )
        if target.is_dir():
            raise Refused.from_key("bundle.link_to_directory", path=os.fspath(path))
    if path.is_file():  # skip sockets, pipes and dangling links
        yield name


def _single(path: Path) -> Bundle:

    root = path.parent
    ignored = Ignored.of(root)
    found = modules_beside(path)
    needed = {PurePosixPath(path.name), *(name for name in found if not _ignores(ignored, name))}
    small, large = _beside(root, ignored)
    taken = tuple(sorted(needed | set(small)))
    return Bundle(root, taken, path.name, tuple(name for name in large if name not in needed))


def _ignores(ignored: Ignored, name: PurePosixPath) -> bool:
    return ignored.file(name) or any(ignored.folder(above) for above in name.parents)


def _beside(root: Path, ignored: Ignored) -> tuple[list[PurePosixPath], list[PurePosixPath]]:
    """Return the files next to a script: those small enough to include, and the others."""
    small, large, total = [], [], 0
    for entry in sorted(os.scandir(root), key=lambda entry: entry.name):
        name = PurePosixPath(entry.name)
        # Other scripts are other programs, and hidden files may contain passwords.
        if name.suffix == ".py" or name.name.startswith(".") or ignored.file(name):
            continue
        if not entry.is_file(follow_symlinks=False):
            continue
        size = entry.stat().st_size
        if size < _SMALL and total + size <= _SMALL_TOGETHER:
            small.append(name)
            total += size
        else:
            large.append(name)
    return small, large


def _check(bundle: Bundle, limits: Settings) -> None:
    if not bundle.files:
        raise Refused.from_key("bundle.no_file", root=os.fspath(bundle.root))
    if len(bundle.files) > limits.code_files:
        raise Refused.from_key(
            "bundle.too_many_files", files=len(bundle.files), code_files=limits.code_files
        )
    sizes = {name: (bundle.root / name).stat().st_size for name in bundle.files}
    total = sum(sizes.values())
    if total > limits.code_limit:
        largest = sorted(sizes, key=lambda name: -sizes[name])[:_SHOWN]
        listed = ", ".join(f"{name} ({_mib(sizes[name])})" for name in largest)
        raise Refused.from_key(
            "bundle.too_large", total=_mib(total), code_limit=_mib(limits.code_limit), listed=listed
        )


def _mib(size: int) -> str:
    return f"{size / MiB:,.1f} MiB"


def modules_beside(script: Path) -> set[PurePosixPath]:
    """Return the files below the script's folder that it imports, directly or indirectly.

    An imported package is included whole, with its data files, because it may load parts
    dynamically. A file that does not parse (for example Python 2) is included, but its imports
    are not followed.
    """
    root = script.parent
    found: set[PurePosixPath] = set()
    todo = [PurePosixPath(script.name)]
    while todo:
        current = todo.pop()
        for name in _imported(root / current, current.parent):
            new = set(_files(root, name)) - found
            found |= new
            todo += (file for file in new if file.suffix == ".py")
    return found


def _imported(path: Path, package: PurePosixPath) -> Iterator[PurePosixPath]:
    """Yield the imports of a file as paths relative to the root, without a suffix."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # old scripts have invalid escapes such as '\d'
            tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (PurePosixPath(*alias.name.split(".")) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = PurePosixPath()
            if node.level:
                base = package
                for _ in range(node.level - 1):
                    base = base.parent
            base = base.joinpath(*(node.module or "").split(".")) if node.module else base
            yield base
            yield from (base / alias.name for alias in node.names if alias.name != "*")


def _files(root: Path, name: PurePosixPath) -> Iterator[PurePosixPath]:
    if not name.parts:
        return
    top = PurePosixPath(name.parts[0])
    if (root / top).is_dir() and any((root / top).glob("*.py")):
        yield from (
            PurePosixPath(path.relative_to(root).as_posix())
            for path in sorted((root / top).rglob("*"))
            if path.is_file() and not path.is_symlink()
        )
    elif (root / top.with_suffix(".py")).is_file():
        yield top.with_suffix(".py")
