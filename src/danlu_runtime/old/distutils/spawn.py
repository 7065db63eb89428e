"""Functions of ``distutils.spawn``."""

import shutil


def find_executable(executable: str, path: str | None = None) -> str | None:
    return shutil.which(executable, path=path)
