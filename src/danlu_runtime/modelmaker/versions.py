"""The numbered directories of exported models: the highest number is served."""

import os


def newest(folder: str) -> str:
    """Return the directory of the newest version below ``folder``; empty where there is none."""
    found = versions(folder)
    return os.path.join(folder, max(found, key=int)) if found else ""


def versions(folder: str) -> list[str]:
    """Return the names of all versions below ``folder``, which need not be there."""
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return [name for name in names if name.isdecimal()]
