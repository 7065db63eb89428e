"""The library that TensorFlow loads: found where it was built before, else built.

    python -m danlu_runtime.tffs.build FOLDER      builds it into a folder, and prints its path

It is looked for in ``DANLU_TFFS`` (the path of the library), in ``lib/danlu`` of the Python
environment, in the user's cache. Its name has a hash of the source: no older one is ever taken.
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

VARIABLE = "DANLU_TFFS"
SOURCE = Path(__file__).with_name("shim.c")
_OPTIONS = ("-shared", "-fPIC", "-O2", "-o")


class NoLibrary(Exception):
    """The library is not there and cannot be built; says in a sentence what is missing."""


def library() -> Path:
    """Return the path of the library, built where it is not there yet.

    Raises:
        NoLibrary: there is no compiler.
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
    raise NoLibrary("The library for paths of object stores could not be written anywhere.")


def build(folder: Path) -> Path:
    """Build into a folder; several processes may do so at once.

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
    """Return a name that changes with the source and the machine."""
    content = SOURCE.read_bytes() + platform.machine().encode()
    return f"tffs-{hashlib.sha256(content).hexdigest()[:16]}.so"


def _compile(target: str) -> None:
    command = [*_compiler(), *_OPTIONS, target, str(SOURCE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[0]
        raise NoLibrary(
            f"TensorFlow cannot open obs://, s3://, ks3:// and cos:// here: {command[0]} could not "
            f"build the library for them ({reason})."
        )


def _compiler() -> Sequence[str]:
    for name in (os.environ.get("CC", ""), "cc", "gcc", "clang"):
        # A variable may hold a command with options, which is not ours to take apart.
        if name and (found := shutil.which(name)):
            return [found]
    from importlib.util import find_spec

    if find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang", "cc"]
    raise NoLibrary(
        "TensorFlow cannot open obs://, s3://, ks3:// and cos:// here, because there is no C "
        "compiler to build the library for them: install one (Debian: apt install gcc) or the "
        "package ziglang (pip install ziglang)."
    )


def _environment() -> Path:
    return Path(sys.prefix, "lib", "danlu")


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base, "danlu")


def _writable() -> Iterator[Path]:
    """Yield where to build, best first; not into a Python that all of the machine use."""
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
