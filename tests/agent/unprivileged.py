"""``python unprivileged.py PATH… -- COMMAND…``: run a command as a user without any rights.

The paths are made reachable for all users, in a mount namespace of our own: a Python below
/root and pytest's directories are for root alone.
"""

import os
import stat
import sys

from danlu.sandbox import kernel

NOBODY_UID = 65534


def expose(paths: list[str]) -> None:
    kernel.unshare(kernel.CLONE_NEWNS)
    handles = {path: os.open(path, os.O_PATH) for path in paths}
    closed = {folder for path in paths for folder in [first_closed(path)] if folder}
    kernel.mount("", "/", flags=kernel.MS_REC | kernel.MS_PRIVATE)
    for folder in sorted(closed):
        kernel.mount("tmpfs", folder, "tmpfs", options="mode=0755")
    for path, handle in handles.items():
        if not os.path.exists(path):
            os.makedirs(path)
            kernel.bind(f"/proc/self/fd/{handle}", path)


def first_closed(path: str) -> str:
    parts = path.split("/")
    folders = ["/".join(parts[:end]) for end in range(2, len(parts) + 1)]
    closed = (f for f in folders[:-1] if not os.stat(f).st_mode & stat.S_IXOTH)
    return next(closed, "")


if __name__ == "__main__":
    end = sys.argv.index("--")
    expose(sys.argv[1:end])
    os.setgroups([])
    os.setgid(NOBODY_UID)
    os.setuid(NOBODY_UID)
    os.execv(sys.argv[end + 1], sys.argv[end + 1 :])
