"""Functions of ``distutils.dir_util``."""

import os
import shutil
from typing import Any


def mkpath(name: str, mode: int = 0o777, verbose: Any = 1, dry_run: Any = 0) -> list[str]:
    """Create a folder and its parents; return those that did not exist."""
    missing: list[str] = []
    path = os.path.normpath(name)
    while path and not os.path.isdir(path):
        missing.insert(0, path)
        path = os.path.dirname(path)
    if not dry_run:
        os.makedirs(name, mode, exist_ok=True)
    return missing


def copy_tree(src: str, dst: str, *args: Any, **options: Any) -> list[str]:
    """Copy a folder over another one, which may exist; return the files written."""
    if not os.path.isdir(src):
        raise OSError(f"cannot copy tree {src!r}: not a directory")
    shutil.copytree(src, dst, dirs_exist_ok=True, symlinks=bool(options.get("preserve_symlinks")))
    found = (os.path.join(at, name) for at, _, names in os.walk(src) for name in names)
    return [os.path.join(dst, os.path.relpath(path, src)) for path in found]


def remove_tree(directory: str, verbose: Any = 1, dry_run: Any = 0) -> None:
    if not dry_run:
        shutil.rmtree(directory)
