"""What of a directory is code, and one archive of it, the same bytes for the same files.

A directory is taken as it is, minus what is never code; a single file with the modules it imports
and the small files beside it.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from danlu.client.ignored import Ignored
from danlu.errors import Refused
from danlu.settings import MiB, Settings

if TYPE_CHECKING:
    from tarfile import TarFile

_SMALL, _SMALL_TOGETHER = 1 * MiB, 20 * MiB
_SHOWN = 5


class Bundle(NamedTuple):
    """``files`` below ``root``, in order; ``entry`` is the file that was named, or empty."""

    root: Path
    files: tuple[PurePosixPath, ...]
    entry: str = ""
    # Files beside a single one, too large to come along; folders of data inside a directory.
    left_out: tuple[PurePosixPath, ...] = ()


def select(path: Path, limits: Settings, without: Sequence[Path] = ()) -> Bundle:
    """Return what belongs to the code at ``path``; folders in ``without`` hold data, not code.

    Raises:
        Refused: it is not there, leads outside by a link, or is over ``code_limit`` or
            ``code_files``; names the largest files.
    """
    if path.is_dir():
        bundle = _directory(path, without)
    elif path.is_file():
        bundle = _single(path)
    else:
        raise Refused(f"There is no file or directory {os.fspath(path)!r}.")
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
    """Give a new .tar.gz, open at its beginning.

    It has no name: however this process ends, nothing is left of it.
    """
    import gzip
    import tarfile
    import tempfile

    with tempfile.TemporaryFile() as raw:
        with (
            # No time and no name inside: equal files give an equal archive.
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
    """Yield the name of a regular file; a link is followed to a file inside the code only."""
    if path.is_symlink():
        target = path.resolve()
        if not target.is_relative_to(inside):
            raise Refused(
                f"{os.fspath(path)!r} is a link to {os.fspath(target)!r}, outside the code.",
                hint="Replace it by a copy, or list it in .danluignore.",
            )
        if target.is_dir():
            raise Refused(
                f"{os.fspath(path)!r} is a link to a directory.",
                hint="Replace it by a copy, or list it in .danluignore.",
            )
    if path.is_file():  # a socket, a pipe or a dangling link is no code
        yield name


def _single(path: Path) -> Bundle:
    from danlu.client.imports import modules_beside

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
    """Return the files next to a script, small ones that come along and those that do not."""
    small, large, total = [], [], 0
    for entry in sorted(os.scandir(root), key=lambda entry: entry.name):
        name = PurePosixPath(entry.name)
        # Another script is another program, and a hidden file may hold a password.
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
        raise Refused(f"There is no file to run in {os.fspath(bundle.root)!r}.")
    if len(bundle.files) > limits.code_files:
        raise Refused(
            f"The code has {len(bundle.files):,} files; {limits.code_files:,} are allowed.",
            hint="List what is not code in .danluignore, or raise the setting code_files.",
        )
    sizes = {name: (bundle.root / name).stat().st_size for name in bundle.files}
    total = sum(sizes.values())
    if total > limits.code_limit:
        largest = sorted(sizes, key=lambda name: -sizes[name])[:_SHOWN]
        listed = ", ".join(f"{name} ({_mib(sizes[name])})" for name in largest)
        raise Refused(
            f"The code has {_mib(total)}; {_mib(limits.code_limit)} are allowed. "
            f"The largest files: {listed}.",
            hint="Keep data in the store, list it in .danluignore, or raise code_limit.",
        )


def _mib(size: int) -> str:
    return f"{size / MiB:,.1f} MiB"
