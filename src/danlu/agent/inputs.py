"""Prepares the inputs of a script: code, data, earlier outputs, directories and files."""

import errno
import hashlib
import json
import logging
import os
import shutil
import stat
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from danlu.agent.context import HOSTS, TaskContext, Workspace
from danlu.agent.reports.log_capture import JobLog
from danlu.agent.script.task_sandbox import code_folder
from danlu.atomic_file import write_whole
from danlu.errors import DanluError
from danlu.job.plan import Fetch, Push
from danlu.job.wire import from_wire, to_wire
from danlu.messages import get_message
from danlu.messages.text import files_text
from danlu.messages.text import size as size_text
from danlu.sandbox.root import Overlay
from danlu.storage import checkpoints
from danlu.storage.api import Changed, Entry, FileRecord, Manifest
from danlu.storage.archive import ArchiveLimits
from danlu.storage.cache import CachedTree, ContentCache
from danlu.storage.checkpoints import to_continue
from danlu.storage.locate import Location
from danlu.storage.names import lay_out
from danlu.storage.previous import StartRecord, expire_previous, objects_below, record_start
from danlu.storage.transfer import push
from danlu.storage.transfer.download import fetch
from danlu.storage.transfer.upload import SharedWrittenObjects, WrittenObjects
from danlu.taskdir.exchange_dir import Launch

log = logging.getLogger(__name__)

_FULL = (errno.ENOSPC, errno.EDQUOT)


class Fetcher:
    """Fetches the code and data of a task through the content cache."""

    def __init__(self, context: TaskContext) -> None:
        self._settings = context.settings
        self._stores = context.stores
        self._workspace = context.workspace
        self._stop_signal = context.stop
        self._report = context.report
        self._log = context.log

    def fetch(self) -> None:
        """Fetch everything that the command lists.

        Raises:
            UserError: an input does not exist, or cannot be used as it is.
            StorageError: an input could not be read.
        """
        for number, item in enumerate(self._workspace.task.command.fetch):
            self._report.begin(f"fetch {item.what}")
            began = time.monotonic()
            tree = self._cached(item)
            self._log_fetched(item, tree, time.monotonic() - began)
            self._lay_out(number, item, tree)

    def _cached(self, item: Fetch) -> CachedTree:
        location = self._stores.at(item.uri)
        cache = ContentCache(self._settings.cache, self._settings.cache_limit)
        owner = self._workspace.task.job_id
        limits = ArchiveLimits(self._settings.code_limit, self._settings.code_files)
        progress = self._report.transfer(item.what, self._stop_signal.check)
        # The cache may wait for the lock of an agent that fetches the same.
        with self._stop_signal.interruptible():
            if item.archive:
                return cache.archive(location, owner, limits, progress)
            return cache.tree(location, owner, progress)

    def _log_fetched(self, item: Fetch, tree: CachedTree, took: float) -> None:
        size = size_text(tree.size)
        if tree.hit:
            self._report.cached(item.what, tree.size)
            self._log.write_line(get_message("log.cached", what=item.what, size=size))
        else:
            rate = size_text(tree.size / max(took, 1e-3))
            self._log.write_line(
                get_message("log.fetched", what=item.what, size=size, took=took, rate=rate)
            )

    def _lay_out(self, number: int, item: Fetch, tree: CachedTree) -> None:
        workspace = self._workspace
        isolation = workspace.task.place.isolation
        mount_point = workspace.below_root(item.to)
        workspace.fetched[item.to] = tree.path
        if isolation.private_paths and isolation.overlay:
            layer = workspace.folder / "layers" / str(number)
            for folder in (layer / "upper", layer / "work", mount_point):
                folder.mkdir(parents=True, exist_ok=True)
            workspace.overlays.append(
                Overlay(str(tree.path), str(layer / "upper"), str(layer / "work"), item.to)
            )
        else:
            copy_tree(tree.path, mount_point)


def copy_tree(source: Path, target: Path) -> None:
    """Copy a read-only tree with write permission for the owner. Such trees hold no links."""
    target.mkdir(parents=True, exist_ok=True)
    with os.scandir(source) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                copy_tree(Path(entry.path), target / entry.name)
            else:
                _copy_file(entry.path, target / entry.name)


def _copy_file(source: str, target: Path) -> None:
    mode = stat.S_IMODE(os.stat(source).st_mode) | stat.S_IWUSR
    with open(source, "rb") as reader:
        # copy_file_range copies no data on a file system that shares blocks.
        handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        with open(handle, "wb") as writer:
            left = os.fstat(reader.fileno()).st_size
            try:
                while left:
                    moved = os.copy_file_range(reader.fileno(), handle, left)
                    if moved == 0:
                        break
                    left -= moved
            except OSError as error:
                if error.errno in _FULL:
                    raise OSError(error.errno, error.strerror, str(target)) from None
                reader.seek(0)
                writer.seek(0)
                shutil.copyfileobj(reader, writer, 1 << 20)
    shutil.copystat(source, target)
    os.chmod(target, mode)


_TIMES = 5
_GIVEN = "given.json"


@dataclass
class Held:
    """The state of each output in its store, by the name of the output.

    ``known``: the files that are known to be stored. ``written``: the objects that this task stored
    itself.
    """

    known: dict[str, Manifest] = field(default_factory=dict)
    written: dict[str, WrittenObjects] = field(default_factory=dict)


class Restorer:
    """Restores the outputs of earlier attempts and jobs before the script starts."""

    def __init__(self, context: TaskContext) -> None:
        self._stores = context.stores
        self._workspace = context.workspace
        self._stop_signal = context.stop
        self._report = context.report
        self._log = context.log
        self._previous_days = context.settings.previous_days
        self._starts: dict[str, StartRecord] = {}  # by URI

    def restore(self) -> Held:
        """Record and protect what the outputs hold, then fill the folders of the script."""
        task = self._workspace.task
        with self._stop_signal.interruptible():
            self._begin()
        for number in range(1, task.attempt):
            self._salvage(number)
        held = Held()
        for item in self._mirrored():
            held.known[item.what] = self._pull(item)
            held.written[item.what] = self._written(item)
        self._remember(held.known)
        return held

    def _begin(self) -> None:
        """Record what each output holds before anything is written to it.

        From then on, objects of earlier jobs are kept when they are replaced or removed.
        """
        task = self._workspace.task
        for item in task.command.push:
            choose = None if item.pack else _everything if item.restore else _to_continue
            self._starts[item.uri] = record_start(self._stores.at(item.uri), task.job_id, choose)
        for uri in task.command.writes:
            self._starts[uri] = record_start(self._stores.at(uri), task.job_id)
        self._stores.keep(task.job_id, self._starts)
        for uri in self._starts:
            try:
                expire_previous(self._stores.at(uri), self._previous_days, spared=task.job_id)
            except (DanluError, OSError) as error:
                log.warning("old copies stay uri=%s error=%s", uri, error)

    def _salvage(self, attempt: int) -> None:
        """Upload what the agent of a lost attempt could not upload.

        This is done only once, because a second upload would replace newer objects. Files that the
        attempt was given at its start are left out, because a peer may have written newer ones.
        """
        workspace = self._workspace
        mark = self._own_folder(attempt) / "salvaged"
        if mark.exists() or not mark.parent.is_dir():
            return
        given = self._given(attempt)
        if given is None:
            log.info("nothing to salvage: its script has not run attempt=%s", attempt)
            return
        last = attempt == workspace.task.attempt - 1  # older ones may not remove later objects
        for item in self._mirrored():
            folder = workspace.earlier(item.path, attempt)
            if folder.is_dir():
                log.info("salvage attempt=%s what=%s folder=%s", attempt, item.what, folder)
                progress = self._report.transfer(item.what, self._stop_signal.check)
                with self._stop_signal.interruptible():
                    written = self._written(item) if last else None
                    known = given.get(item.what)
                    push(folder, self._stores.at(item.uri), known, progress, written=written)
        mark.touch()

    def _own_folder(self, attempt: int) -> Path:
        task = self._workspace.task
        return self._workspace.work / task.job_id / str(attempt) / task.name

    def _remember(self, known: Mapping[str, Manifest]) -> None:
        """Save what this attempt starts with, for a later attempt that salvages its outputs."""
        folder = self._own_folder(self._workspace.task.attempt)
        write_whole(folder / _GIVEN, json.dumps(to_wire(known)))

    def _given(self, attempt: int) -> dict[str, Manifest] | None:
        """Return what an attempt started with, or None if its agent was killed while restoring.

        Then the folders may hold half of the restored files, and nothing that the script wrote.
        """
        try:
            data = json.loads((self._own_folder(attempt) / _GIVEN).read_bytes())
            return {what: from_wire(Manifest, each) for what, each in data.items()}
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, AttributeError):
            return {}  # the machine crashed: every file may be one that the attempt wrote

    def _mirrored(self) -> list[Push]:
        return [item for item in self._workspace.task.command.push if not item.pack]

    def _written(self, item: Push) -> WrittenObjects:
        """Return the objects that earlier attempts of this task stored, without those of peers."""
        task, location = self._workspace.task, self._stores.at(item.uri)
        alone = sum(map(len, task.place.peers.values())) <= 1
        written = (
            WrittenObjects() if alone else SharedWrittenObjects(location, task.job_id, task.name)
        )
        if task.attempt > 1:
            start = self._starts[item.uri]
            written.etags = {
                path: entry.etag
                for path, entry in objects_below(location)
                if not path.endswith("/")
                and not start.holds(path, entry)
                and written.may_be_own(path)
            }
        return written

    @staticmethod
    def _settled(pull: Callable[[], Manifest]) -> Manifest:
        """Call ``pull``, and repeat it if an object changed meanwhile.

        A peer may still be salvaging the outputs of its earlier attempt.
        """
        for _ in range(_TIMES):
            try:
                return pull()
            except Changed as error:
                log.info("restore again error=%s", error)
        return pull()

    def _pull(self, item: Push) -> Manifest:
        folder = self._workspace.below_root(item.path)
        location = self._stores.at(item.uri)
        start = self._starts[item.uri]
        progress = self._report.transfer(item.what, self._stop_signal.check)
        earlier: set[str] = set()

        def wanted() -> Iterable[tuple[str, Entry]]:
            earlier.clear()
            for path, entry in objects_below(location):
                if not start.holds(path, entry):
                    yield path, entry
                elif path in start.given:
                    earlier.add(path)
                    yield path, entry

        def pull() -> Manifest:
            return fetch(location.storage, lay_out(wanted(), item.uri), folder, progress)

        if self._workspace.task.attempt == 1 and not start.given:
            manifest = Manifest()  # no need to list it again
        else:
            with self._stop_signal.interruptible():
                manifest = self._settled(pull)
        manifest = _localized(manifest, folder)
        self._log_restored(item, manifest, start, len(earlier))
        return manifest

    def _log_restored(
        self, item: Push, manifest: Manifest, start: StartRecord, earlier: int
    ) -> None:
        attempt = self._workspace.task.attempt
        sizes = [mark.size for path, mark in manifest.files.items() if path not in start.given]
        if item.restore:
            sizes = [mark.size for mark in manifest.files.values()]
        if attempt > 1 or item.restore:
            key = "log.found_of_earlier" if attempt > 1 else "log.found"
            files, size = files_text(len(sizes)), size_text(sum(sizes))
            self._log.write_line(
                get_message(key, attempt=attempt, files=files, size=size, what=item.what)
            )
        left, left_bytes = start.left
        if not item.restore and (earlier or left):
            brought = sum(m.size for path, m in manifest.files.items() if path in start.given)
            values = {
                "what": item.what,
                "uri": item.uri,
                "files": files_text(earlier),
                "size": size_text(brought),
                "left": files_text(left),
                "left_size": size_text(left_bytes),
            }
            self._log.write_line(
                get_message("log.brought_some" if left else "log.brought", **values)
            )


def _everything(location: Location, tree: Iterable[tuple[str, Entry]]) -> Collection[str]:
    return [path for path, _ in tree]


def _to_continue(location: Location, tree: Iterable[tuple[str, Entry]]) -> Collection[str]:
    sizes = {path: entry.size for path, entry in tree if not path.endswith("/")}
    return to_continue(sizes, lambda path: location.storage.read(location.prefix + path))


def _localized(manifest: Manifest, folder: Path) -> Manifest:
    """Make every ``checkpoint`` file name its checkpoints relative to itself.

    TensorFlow writes absolute paths there, which belong to a folder of another job or to a URL. The
    stored object stays unchanged unless the script writes the file again.
    """
    files = dict(manifest.files)
    for path, mark in manifest.files.items():
        if not checkpoints.is_state(path, mark.size):
            continue
        place = folder / path
        before = place.read_bytes()
        after = checkpoints.localized(files, path, before)
        if after == before:
            continue
        fresh = place.with_name(f".{place.name}.danlu")
        fresh.write_bytes(after)
        # Keep the older time, so that a write of the script at this moment changes it.
        time_ns = os.stat(place).st_mtime_ns
        os.utime(fresh, ns=(time_ns, time_ns))
        os.replace(fresh, place)
        files[path] = FileRecord(len(after), time_ns, hashlib.sha256(after).hexdigest())
    return Manifest(files, manifest.folders)


def prepare(context: TaskContext) -> Held:
    """Prepare everything that the script needs. Return what is known about its outputs.

    Raises:
        Interrupted, UserError, StorageError, OSError
    """
    task, workspace = context.task, context.workspace
    Fetcher(context).fetch()
    context.report.begin("prepare")
    held = Restorer(context).restore()
    for path in (*task.command.folders, *(item.path for item in task.command.push)):
        workspace.host(path).mkdir(parents=True, exist_ok=True)
    for path, text in task.command.files.items():
        target = workspace.host(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    _write_hosts(workspace, context.log)
    _write_launch(workspace, context.log)
    return held


def _write_launch(workspace: Workspace, job_log: JobLog) -> None:
    command, place = workspace.task.command, workspace.task.place
    mapped: dict[str, str] = {}
    if not place.isolation.private_paths:
        mapped = {fixed: str(workspace.root) + fixed for fixed in command.private}
        paths = ", ".join(mapped)
        job_log.write_line(get_message("log.paths_mapped", paths=paths, root=workspace.root))
    workspace.box.write_launch(
        Launch(
            run=command.run,
            args=command.args,
            module=command.module,
            sys_path=command.sys_path,
            code=code_folder(workspace),
            mapped=mapped,
            functions=command.functions,
            report=command.report,
        )
    )


def _write_hosts(workspace: Workspace, job_log: JobLog) -> None:
    """Write the script's /etc/hosts with the machine names that its service defines."""
    hosts = workspace.task.command.hosts
    if not hosts:
        return
    names = ", ".join(f"{name}={address}" for name, address in hosts.items())
    if not workspace.task.place.isolation.private_paths or not os.path.isfile(HOSTS):
        job_log.write_line(get_message("log.no_hosts", hosts=HOSTS, names=names))
        return
    lines = "".join(f"{address} {name}\n" for name, address in hosts.items())
    # Placed before the machine's own lines, because the first match of a name wins.
    workspace.hosts.write_bytes(lines.encode() + Path(HOSTS).read_bytes())
