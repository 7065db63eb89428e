"""Functions of ``distutils.file_util``."""

import os
import shutil
from typing import Any


def copy_file(src: str, dst: str, *args: Any, **options: Any) -> tuple[str, int]:
    """Copy a file to a path or into a folder; return its new path and 1."""
    target = os.path.join(dst, os.path.basename(src)) if os.path.isdir(dst) else dst
    shutil.copy2(src, target)
    return target, 1


def move_file(src: str, dst: str, *args: Any, **options: Any) -> str:
    return str(shutil.move(src, dst))
