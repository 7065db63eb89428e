"""Finds or builds the library that TensorFlow loads.

    python -m danlu_runtime.tffs.build FOLDER      builds it into a folder, and prints its path

The library is searched in ``DANLU_TFFS`` (the path of the library), in ``lib/danlu`` of the Python
environment and in the user's cache. Its name has a hash of the source. An outdated library is never
used.
"""

import contextlib
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from danlu.messages import get_message

VARIABLE = "DANLU_TFFS"
SOURCE = Path(__file__).with_name("shim.c")
_OPTIONS = ("-shared", "-fPIC", "-O2", "-o")


class NoLibrary(Exception):
    """The library is missing and cannot be built; the message has the reason."""


def library() -> Path:
    """Return the path of the library; build it if it is missing.

    Raises:
        NoLibrary: it cannot be built, for example because there is no compiler.
    """
    given = os.environ.get(VARIABLE, "")
    if given and os.path.exists(given):
        return Path(given)
    name = file_name()
    for folder in (_environment(), _cache()):
        if (folder / name).exists():
            return folder / name
    for folder in _writable():
        with contextlib.suppress(OSError):
            return build(folder)
    raise NoLibrary(get_message("tffs.nowhere"))


def build(folder: Path) -> Path:
    """Build into a folder; several processes may do so at the same time.

    Raises:
        NoLibrary: there is no compiler, or it failed.
        OSError: the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / file_name()
    handle, unfinished = tempfile.mkstemp(prefix=".tffs-", suffix=".so", dir=folder)
    os.close(handle)
    try:
        _compile(unfinished)
        os.chmod(unfinished, 0o755)
        os.replace(unfinished, target)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(unfinished)
    return target


def file_name() -> str:
    """Return a file name that depends on the source and the machine type."""
    content = SOURCE.read_bytes() + platform.machine().encode()
    return f"tffs-{hashlib.sha256(content).hexdigest()[:16]}.so"


def _compile(target: str) -> None:
    command = [*_compiler(), *_OPTIONS, target, str(SOURCE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        reason = lines[0] if lines else get_message("show.exit", code=done.returncode)
        raise NoLibrary(get_message("tffs.build_failed", command=command[0], reason=reason))


def _compiler() -> Sequence[str]:
    for name in (os.environ.get("CC", ""), "cc", "gcc", "clang"):
        # CC may be a command with options. That is not supported and skipped.
        if name and (found := shutil.which(name)):
            return [found]
    from importlib.util import find_spec

    if find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang", "cc"]
    raise NoLibrary(get_message("tffs.no_compiler"))


def _environment() -> Path:
    return Path(sys.prefix, "lib", "danlu")


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base, "danlu")


def _writable() -> Iterator[Path]:
    """Yield folders to build in, best first; never a Python installation shared by all users."""
    if sys.prefix != sys.base_prefix:
        yield _environment()
    yield _cache()
    yield Path(tempfile.mkdtemp(prefix="danlu-tffs-"))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("Name one folder: python -m danlu_runtime.tffs.build FOLDER")
    try:
        print(build(Path(sys.argv[1])))
    except (NoLibrary, OSError) as error:
        sys.exit(str(error))
