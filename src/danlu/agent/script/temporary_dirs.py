"""Private /tmp, /var/tmp and /dev/shm of a task, empty at its start and removed with it.

/tmp and /var/tmp are folders of the workspace, on its disk. They outlive the processes of the task
and may use all free space there. /dev/shm is memory, a tmpfs with a size limit. Each program that
is started for the task has its own, which is freed with the last process that uses it.

Paths in the machine's /tmp that the task needs are visible in its own /tmp at the same path.
Examples are an environment there, the user's home directory, and files that variables name.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence

from danlu.job.plan import Task
from danlu.settings import Settings

TMP, VAR_TMP, SHM = "/tmp", "/var/tmp", "/dev/shm"
_PATH = re.compile(r"(?:/tmp|/var/tmp|/dev/shm)/[^\s'\"`;:,()\[\]<>]+")
_FILE_URL = re.compile(r"(?:^|=)file://(/[^\s'\"]+)$")


def within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder + "/")


def temporary_folders(task: Task, settings: Settings) -> list[str]:
    """Return the private folders for temporary files; none if the task shares the machine's."""
    if settings.share_tmp or not task.place.isolation.private_paths:
        return []
    # /var/tmp may be a link to another of the folders, or missing on this machine.
    real = os.path.isdir(VAR_TMP) and os.path.realpath(VAR_TMP) == VAR_TMP
    return [TMP, VAR_TMP] if real else [TMP]


def shared_memory_size(task: Task, settings: Settings) -> int:
    """Return the size in bytes of the task's own /dev/shm, or 0 if it uses the machine's."""
    if not temporary_folders(task, settings) or not os.path.isdir(SHM):
        return 0
    return shm_size(settings, task.place.memory)


def shm_size(settings: Settings, memory: int = 0) -> int:
    """Return the size in bytes of /dev/shm for a task that may use ``memory`` bytes.

    With 0 the task may use all memory.
    """
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    size = settings.shm_limit or machine // 2
    return min(size, memory) if memory else size


def visible_paths(covered: Sequence[str], paths: Iterable[str]) -> list[tuple[str, str]]:
    """Return those ``paths`` of the machine that private folders would hide from a task.

    Each is a pair for :class:`danlu.sandbox.root.Root`: the path on the machine, and the path at
    which the task sees it.
    """
    found: dict[str, str] = {}
    for path in map(os.path.abspath, paths):
        for seen in (path, os.path.realpath(path)):
            inside = any(within(seen, folder) and seen != folder for folder in covered)
            if inside and os.path.exists(seen):
                found[seen] = os.path.realpath(seen)
    return [(real, seen) for seen, real in found.items()]


def paths_in_variables(variables: Mapping[str, str]) -> list[str]:
    """Return the absolute paths that variables name: certificates, libraries, a home directory."""
    words = (word for value in variables.values() for word in re.split(r"[:,\s]", value))
    return [word for word in words if word.startswith("/")]


def paths_in_urls(covered: Sequence[str], words: Iterable[str]) -> list[str]:
    """Return the folders within ``covered`` that a script receives as ``file://`` URLs.

    Missing folders are created. What the script writes there belongs to the user and is not
    temporary.
    """
    matches = (_FILE_URL.search(word) for word in words)
    named = [os.path.normpath(match[1]) for match in matches if match]
    found = [path for path in named if any(within(path, folder) for folder in covered)]
    for path in found:
        if not os.path.exists(path):
            os.makedirs(path, exist_ok=True)
    return found


def hidden_path(covered: Sequence[str], message: str, root: str) -> str:
    """Return a path in an error message that exists on this machine but not for the task, else "".

    ``root``: the task's own directories lie below it, by the path at which they are seen.
    """
    if not covered:
        return ""
    for match in _PATH.finditer(message):
        path = os.path.normpath(match[0].rstrip("."))
        for each in (path, os.path.dirname(path)):
            known = any(within(each, folder) and each != folder for folder in (*covered, SHM))
            if known and os.path.lexists(each) and not os.path.lexists(root + each):
                return each
    return ""
