"""Names of files and folders of a data set, on this machine and in object stores."""

import atexit
import contextlib
import fnmatch
import os
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from typing import Any

from moxing.framework import file

_SHOWN = 3


IMAGES = (".bmp", ".gif", ".jpeg", ".jpg", ".png", ".webp")


def joined(folder: str, *names: str) -> str:
    return "/".join([folder.rstrip("/") or folder, *names]) if folder != "/" else "/" + names[0]


def is_remote(path: str) -> bool:
    return "://" in path and not path.startswith("file://")


def needed(base_dir: object) -> str:
    """Return a directory that is there."""
    if not isinstance(base_dir, str | os.PathLike) or not str(base_dir):
        raise ValueError(f"base_dir must be a directory or a URL, got {base_dir!r}.")
    path = os.fspath(base_dir)
    if not file.is_directory(path):
        raise ValueError(f"base_dir {path!r} is not a directory; give the folder of the data set.")
    return path


def is_hidden(path: str) -> bool:
    return any(part.startswith(".") or part == "__MACOSX" for part in path.split("/"))


def is_image(path: str) -> bool:
    return path.lower().endswith(IMAGES)


def matching(folder: str, patterns: str | Sequence[str]) -> list[str]:
    """Return the files below a folder that match, as paths relative to it, sorted."""
    wanted = [patterns] if isinstance(patterns, str) else list(patterns)
    deep = any("/" in pattern for pattern in wanted)
    names = file.list_directory(folder, recursive=deep, skip_dir=True)
    return [name for name in names if any(_fits(name, pattern) for pattern in wanted)]


def what_is_in(folder: str) -> str:
    """Return a few names of a folder, for a sentence about one that is not there."""
    names = [name for name in file.list_directory(folder) if not is_hidden(name)]
    if not names:
        return "nothing is in it"
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"there is {', '.join(map(repr, names[:_SHOWN]))}{more}"


def _fits(name: str, pattern: str) -> bool:
    parts, wanted = name.split("/"), pattern.strip("/").split("/")
    return len(parts) == len(wanted) and all(
        fnmatch.fnmatchcase(part, want) and (want.startswith(".") or not part.startswith("."))
        for part, want in zip(parts, wanted, strict=True)
    )


def cache_folder(cache_dir: str | None, remove_on_finish: bool) -> str | None:
    """Return a folder of its own for copies of a data set; removed at the end of the process.

    ``ENV`` is the directory that ``DLS_LOCAL_CACHE_PATH`` names.
    """
    if cache_dir is None:
        return None
    if cache_dir == "ENV":
        cache_dir = os.environ.get("DLS_LOCAL_CACHE_PATH", "")
        if not cache_dir:
            raise ValueError(
                "cache_dir='ENV' needs the environment variable DLS_LOCAL_CACHE_PATH; it is not "
                "set. Write a directory, such as cache_dir='/cache'."
            )
    if is_remote(cache_dir):
        raise ValueError(f"cache_dir must be a directory of this machine, got {cache_dir!r}.")
    os.makedirs(cache_dir, exist_ok=True)
    folder = tempfile.mkdtemp(prefix="mox-", dir=cache_dir)
    if remove_on_finish:
        atexit.register(_remove, folder, os.getpid())
    return folder


def scratch_file(graph: Any) -> str:
    """Return a new file that goes with the graph it serves, or with this process."""
    handle, path = tempfile.mkstemp(prefix="mox-list-")
    os.close(handle)
    weakref.finalize(graph, _remove, path, os.getpid())
    return path


def _remove(path: str, owner: int) -> None:
    if os.getpid() != owner:  # a fork ends: the files are not its own
        return
    with contextlib.suppress(OSError):
        shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
