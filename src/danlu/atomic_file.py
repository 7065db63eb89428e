"""Atomic writes. A reader finds the old content of a file or the new one, never a part of it.

A file is written under a temporary name and renamed. It is not flushed to the disk: after a crash
of the machine it may be empty, and its reader must accept that.
"""

import os
from dataclasses import dataclass
from pathlib import Path

PREFIX = ".tmp-"  # of temporary names; a killed process leaves such files


def write_whole(path: Path, data: bytes | str, mode: int = 0o666, *, parents: bool = False) -> None:
    """Write a file atomically, a text as UTF-8. ``parents``: create missing folders."""
    os.replace(write_temporary(path, data, mode, parents=parents), path)


def write_temporary(
    path: Path, data: bytes | str, mode: int = 0o666, *, parents: bool = False
) -> Path:
    """Write a file in the folder of ``path`` and return its temporary name."""
    temporary = path.with_name(f"{PREFIX}{os.getpid()}-{os.urandom(4).hex()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        handle = os.open(temporary, flags, mode)
    except FileNotFoundError:
        if not parents:
            raise
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(temporary, flags, mode)
    try:
        write_all(handle, data.encode() if isinstance(data, str) else data)
    except OSError:
        temporary.unlink(missing_ok=True)  # leave no half-written file on a full disk
        raise
    finally:
        os.close(handle)
    return temporary


def write_all(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


@dataclass(frozen=True)
class HomeNote:
    """One line of text in a file, such as a name that a server keeps in its home."""

    path: Path
    mode: int = 0o666

    def read(self) -> str:
        """Return the text; "" if the file does not exist."""
        try:
            return self.path.read_text(encoding="ascii").strip()
        except FileNotFoundError:
            return ""

    def write(self, text: str) -> None:
        write_whole(self.path, f"{text}\n", self.mode)
