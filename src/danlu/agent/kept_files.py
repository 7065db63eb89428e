"""Keeps the files that a script wrote outside its outputs, in the task directory.

They are the files of its working directory that are new or changed compared with the fetched code,
and the files beside an output folder whose names begin with the name of that folder. Files are
moved, not copied. A move needs no disk space, so it works on a full disk too. The list of files is
written first, so that every moved file is listed.
"""

import contextlib
import filecmp
import hashlib
import logging
import os
import re
import shutil
import stat
import time
from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from danlu.agent.context import TaskContext, Workspace
from danlu.agent.outcome import TaskResult
from danlu.agent.reports.log_capture import JobLog
from danlu.agent.script.task_sandbox import code_folder
from danlu.agent.script.temporary_dirs import within
from danlu.errors import DanluError
from danlu.job.kept_files import FOLDER, KeptFile, KeptFiles, models_in
from danlu.job.status import Kept, Unstored
from danlu.messages import get_message
from danlu.settings import Settings
from danlu.storage.folders import DISK_FULL, walk
from danlu.storage.locate import jobs_place
from danlu.taskdir.files import TaskDir
from danlu.taskdir.job_files import LocalJobFiles

log = logging.getLogger(__name__)

MAX_FILES = 20_000  # per task; models first, then the newest
_NOT_KEPT = ("__pycache__", ".pytest_cache", ".ipynb_checkpoints", ".eggs")
_BUILT = (".pyc", ".egg-info")
_BESIDE = "beside-output/"  # prefix of the names of files that lie beside an output folder
_NAMED = 5  # such files that the log names

Sums = Collection[tuple[int, str]]
Found = dict[str, tuple[Path, os.stat_result]]


class _WrittenFolder(NamedTuple):
    """A folder to which the script may have written, as a path on this machine.

    ``fetched``: the tree that was fetched into it, if any. ``spared``: folders in it that are
    skipped, because they are outputs or were fetched.
    """

    folder: Path
    fetched: Path | None
    spared: frozenset[str]
    at: str = ""  # prefix of the names of its files


def keep_files(
    files: TaskDir, settings: Settings, workspace: Workspace, stored: Sums, job_log: JobLog
) -> Kept | None:
    """Keep the files of the script. Return a summary, or None if there are none.

    ``stored``: size and SHA-256 of the files that are already in a store. Call it only after every
    process of the task has ended. Errors are logged and return None.
    """
    try:
        return _keep_files(files, settings, workspace, stored, job_log)
    except (OSError, DanluError) as error:
        log.exception("not kept")
        job_log.write_line(get_message("log.not_kept", error=error))
        return None


def _keep_files(
    files: TaskDir, settings: Settings, workspace: Workspace, stored: Sums, job_log: JobLog
) -> Kept | None:
    roots = _roots(workspace)
    found: Found = {}
    for root in roots:
        found |= _written(root, workspace)
    urls = _report_url_folders(found, workspace, job_log)
    found |= _beside_outputs(workspace, job_log)
    chosen = _chosen(found, stored)
    if not chosen:
        return None
    if len(chosen) < len(found):
        job_log.write_line(get_message("log.more_not_kept", count=len(found) - len(chosen)))
    listed = KeptFiles(tuple(chosen), time.time() + workspace.task.limits.keep)
    if isinstance(files.store, LocalJobFiles):
        _with_reserve(workspace, lambda: files.write_kept(listed))
        target = files.store.folder / files.folder / FOLDER
        for file in chosen:
            _with_reserve(workspace, partial(_move, found[file.path][0], target / file.path))
    else:
        listed = _upload(files, settings, workspace.task.job_id, listed, found)
    return Kept(len(listed.files), listed.size, listed.models, listed.until, urls)


_URL_FOLDER = re.compile(r"(?:code/)?((?:obs|s3|ks3|cos):)/+(.+)", re.DOTALL)


def _report_url_folders(found: Found, workspace: Workspace, job_log: JobLog) -> tuple[str, ...]:
    """Log the files in a local folder such as ``s3:``, and return the first URLs.

    ``os.makedirs`` and ``open`` create one for a URL, and the store does not get the files.
    """
    matches = {path: match for path in sorted(found) if (match := _URL_FOLDER.fullmatch(path))}
    if not matches:
        return ()
    urls = [f"{match[1]}//{match[2]}" for match in matches.values()]
    names = ", ".join(urls[:_NAMED])
    if len(urls) > _NAMED:
        names = get_message("log.and_more", names=names, count=len(urls) - _NAMED)
    given = [uri for uri in workspace.task.command.writes if any(u.startswith(uri) for u in urls)]
    job_log.write_line(
        get_message("log.url_folder_urls" if given else "log.url_folder", urls=names)
    )
    return tuple(urls[:_NAMED])


def _beside_outputs(workspace: Workspace, job_log: JobLog) -> Found:
    """Return the files beside an output folder whose names begin with its name. Log them.

    ``train_url + "model.h5"`` names such a file if the script received the folder without a final
    slash.
    """
    command = workspace.task.command
    looked_at = [path for path in (code_folder(workspace), command.cwd) if path not in ("", "/")]
    used = [
        *(item.path for item in command.push),
        *(item.to for item in command.fetch),
        *command.folders,
        *command.files,
    ]
    spared = frozenset(str(workspace.below_root(path)) for path in used)
    found: Found = {}
    for item in sorted(command.push, key=lambda item: -len(item.path)):  # the nearest name first
        above, name = os.path.split(item.path.rstrip("/"))
        folder = workspace.below_root(above)
        if any(within(above, path) for path in looked_at) or not folder.is_dir():
            continue
        beside = {
            path: entry
            for path, entry in _written(
                _WrittenFolder(folder, None, spared), workspace, name
            ).items()
            if _BESIDE + path not in found
            and not any(within(other, f"{above}/{path.partition('/')[0]}") for other in used)
        }
        if beside:
            named = [f"{above}/{path}" for path in sorted(beside)]
            files = ", ".join([*named[:_NAMED], *(["…"] if len(named) > _NAMED else [])])
            values = {"what": item.what, "path": item.path, "files": files, "folder": _BESIDE}
            job_log.write_line(get_message("log.wrote_beside", **values))
        found |= {_BESIDE + path: entry for path, entry in beside.items()}
    return found


def _roots(workspace: Workspace) -> list[_WrittenFolder]:
    command = workspace.task.command
    code = code_folder(workspace)
    cwd = command.cwd or code
    apart = bool(cwd) and not (code and within(cwd, code))
    roots = []
    if code:
        roots.append(_root(workspace, code, "code/" if apart else ""))
    if apart and cwd != "/" and not any(within(cwd, path) for path in workspace.fetched):
        roots.append(_root(workspace, cwd, ""))
    return [root for root in roots if root.folder.is_dir()]


def _root(workspace: Workspace, seen: str, at: str) -> _WrittenFolder:
    layer = next((layer for layer in workspace.overlays if layer.seen == seen), None)
    folder = Path(layer.upper) if layer else workspace.below_root(seen)
    others = [
        *(item.path for item in workspace.task.command.push),
        *(path for path in workspace.fetched if path != seen),
    ]
    spared = [str(folder) + path[len(seen) :] for path in others if within(path, seen)]
    return _WrittenFolder(folder, workspace.fetched.get(seen), frozenset(spared), at)


def _written(root: _WrittenFolder, workspace: Workspace, begin: str = "") -> Found:
    """Return the regular files that the script created or changed, by relative path.

    ``begin``: only those with a relative path that begins with this text. Links are left out.
    Their targets are kept themselves, or are outside the working directory.
    """
    ours = {str(workspace.host(path)): text for path, text in workspace.task.command.files.items()}
    found = {}
    for folder, folders, names in walk(root.folder):
        folders[:] = [name for name in folders if _is_looked_at(root, folder, name)]
        if folder == str(root.folder):
            folders[:] = [name for name in folders if name.startswith(begin)]
            names = [name for name in names if name.startswith(begin)]
        for name in names:
            path = Path(folder, name)
            status = path.lstat()
            relative = path.relative_to(root.folder).as_posix()
            if not stat.S_ISREG(status.st_mode) or name.endswith(_BUILT):
                continue
            if _is_storable(relative) and not _is_unchanged(path, status, root, relative, ours):
                found[root.at + relative] = (path, status)
    return found


def _is_looked_at(root: _WrittenFolder, folder: str, name: str) -> bool:
    if name in _NOT_KEPT or name.endswith(_BUILT):
        return False
    if name == "build" and root.fetched is not None:
        # setup.py creates the build folder beside itself.
        inside = os.path.relpath(folder, root.folder)
        if (root.fetched / inside / "setup.py").is_file():
            return False
    return os.path.join(folder, name) not in root.spared


def _is_storable(relative: str) -> bool:
    """Return True if the name is printable UTF-8. Other names cannot be listed or requested."""
    return relative.isprintable() and relative.encode(errors="replace").decode() == relative


def _is_unchanged(
    path: Path, status: os.stat_result, root: _WrittenFolder, relative: str, ours: dict[str, str]
) -> bool:
    text = ours.get(str(path))
    if text is not None:
        return path.read_bytes() == text.encode()
    before = root.fetched / relative if root.fetched is not None else None
    if before is None or not before.is_file() or before.stat().st_size != status.st_size:
        return False
    return filecmp.cmp(path, before, shallow=False)


def _chosen(found: Found, stored: Sums) -> list[KeptFile]:
    models = models_in(found)
    sizes = {size for size, _ in stored}
    files = []
    for path, (at, status) in found.items():
        elsewhere = status.st_size in sizes and (status.st_size, _sum(at)) in stored
        only = path in models and not elsewhere
        files.append(KeptFile(path, status.st_size, status.st_mtime, only))
    files.sort(key=lambda file: (not file.only, -file.written))
    return sorted(files[:MAX_FILES], key=lambda file: file.path)


def _sum(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _with_reserve(workspace: Workspace, step: Callable[[], None]) -> None:
    """Run ``step``. If the disk is full, release the reserve and run it once more."""
    try:
        step()
    except OSError as error:
        if error.errno not in DISK_FULL or not workspace.spend_reserve():
            raise
        step()


def _move(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(source, target)  # copies if the target is on another disk


def _upload(
    files: TaskDir, settings: Settings, job_id: str, listed: KeptFiles, found: Found
) -> KeptFiles:
    """Upload the files to the store of the task directory, up to the size limit.

    Files that are the only copy of a model are uploaded regardless of the limit.
    """
    place = jobs_place(settings)
    left = settings.keep_limit
    fit = []
    for file in sorted(listed.files, key=lambda file: (not file.only, -file.written)):
        if file.only or file.size <= left:
            left -= file.size
            fit.append(file)
    listed = replace(listed, files=tuple(sorted(fit, key=lambda file: file.path)))
    files.write_kept(listed)
    for file in listed.files:
        with open(found[file.path][0], "rb") as source:
            key = f"{place.prefix}{job_id}/{files.folder}{FOLDER}/{file.path}"
            place.storage.write(key, source)
    return listed


# Marker file beside the outputs of a task. A cleanup on a machine other than the server's cannot
# read the outcome, and must not remove this folder.
UNSTORED = "unstored"


def with_remains(context: TaskContext, result: TaskResult, stored: Sums) -> TaskResult:
    """Keep the files of the working directory, and add the outputs that are in no store."""
    files, workspace = context.files, context.workspace
    if not result.stored:
        # The host name is empty if the server runs on this machine.
        host = "" if files.store.can_append else workspace.task.place.host
        result = replace(result, unstored=find_unstored(workspace, host))
    kept = keep_files(files, context.settings, workspace, stored, context.log)
    return replace(result, kept=kept)


def find_unstored(workspace: Workspace, host: str) -> tuple[Unstored, ...]:
    """Return every output in which the script, or an earlier attempt, left a file."""
    found = [
        Unstored(
            task=workspace.task.name,
            what=item.what,
            uri=item.uri,
            path=str(workspace.below_root(item.path)),
            pack=item.pack,
            host=host,
        )
        for item in workspace.task.command.push
        if _has_files(workspace.below_root(item.path))
    ]
    if found:
        with contextlib.suppress(OSError):  # the disk is full; the outcome lists the outputs too
            (workspace.folder / UNSTORED).touch()
    return tuple(found)


def _has_files(folder: Path) -> bool:
    return any(files for _, _, files in walk(folder))
