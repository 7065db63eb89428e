"""Output sync: uploads outputs while the script runs, and completes them after its end.

An output that is packed is uploaded only at the end, because half an archive is useless.
"""

import gzip
import logging
import math
import os
import tarfile
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from danlu.agent.context import remove_scratch
from danlu.agent.control import Interrupted, StopSignal
from danlu.agent.reports.log_capture import JobLog
from danlu.agent.reports.progress import Reporter
from danlu.errors import DanluError, Refused, StorageError
from danlu.job.plan import Push
from danlu.job.status import Waiting
from danlu.messages import get_message
from danlu.storage.api import FileRecord, Manifest
from danlu.storage.locate import Stores
from danlu.storage.transfer import push
from danlu.storage.transfer.outputs import FileChanged, OutputReader, scan
from danlu.storage.transfer.upload import WrittenObjects

log = logging.getLogger(__name__)


class Packer:
    """Packs each output once, however often its upload is retried.

    No other object uses the folder ``scratch``.
    """

    def __init__(self, scratch: Path, job_log: JobLog) -> None:
        self._scratch = scratch
        self._log = job_log
        self._packed: dict[Push, Path | None] = {}

    def folder(self, item: Push, source: Path, check: Callable[[], None]) -> Path | None:
        """Return a folder that holds only the archive, or None if the output is empty.

        Raises:
            StorageError: a file cannot be read.
            OSError: for example, the disk is full.
        """
        if item not in self._packed:
            folder = self._scratch / item.what
            remove_scratch(folder)
            folder.mkdir(parents=True)
            # Written beside the folder first, so that the folder holds only a complete archive.
            unfinished = self._scratch / f"{item.what}.unfinished"
            there = pack(source, unfinished, check)
            os.replace(unfinished, folder / item.pack)
            self._packed[item] = folder if there else None
            if not there:
                remove_scratch(folder)
                self._log.write_line(
                    get_message("log.no_archive", what=item.what, path=item.path, pack=item.pack)
                )
        return self._packed[item]


def pack(source: Path, archive: Path, check: Callable[[], None]) -> int:
    """Write a .tar.gz of ``source``. Return its number of files and empty folders.

    Equal files give equal bytes: names are sorted, times and owners are left out. A link to a
    target inside ``source`` becomes that file. A link to a target outside is left out. ``check`` is
    called often and may raise.
    """
    folder = os.path.realpath(source)
    found = scan(folder, warn=True)
    if found.refused:
        raise Refused.from_key("output.not_packable", why="; ".join(found.refused))
    with (
        open(archive, "wb") as raw,
        # The fastest level: weights hardly get smaller, and the job waits for this.
        gzip.GzipFile("", "wb", compresslevel=1, fileobj=raw, mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as packed,
    ):
        for name in sorted([*found.files, *found.folders]):
            check()
            if name in found.files:
                _add(packed, folder, name, check)
            else:
                member = tarfile.TarInfo(name)
                member.type, member.mode = tarfile.DIRTYPE, 0o755
                packed.addfile(member)
    log.info("packed source=%s files=%s", source, len(found.files))
    return len(found.files) + len(found.folders)


def _add(packed: tarfile.TarFile, folder: str, name: str, check: Callable[[], None]) -> None:
    try:
        with OutputReader(folder, name) as output:
            output.on_read = lambda _: check()
            member = tarfile.TarInfo(name)
            member.size = output.seen.size
            member.mode = 0o755 if os.access(os.path.join(folder, name), os.X_OK) else 0o644
            packed.addfile(member, output)
    except FileChanged as reason:
        raise StorageError.from_key("output.not_packed", reason=reason) from None


_SLOWEST = 60.0  # maximum seconds between two attempts of an output sync that fails
_PAUSE, _MAX_PAUSE = 1.0, 30.0  # seconds between two attempts of the final upload
_AFTER_GRACE = 2.0  # seconds; an agent that needs more is killed before it writes its outcome
_CLOSING = 10.0  # seconds that close() allows for an upload that waits for its store


class OutputSync:
    """Uploads the outputs of a task, from one thread at a time.

    This is its own thread until :meth:`finish` is called, then the thread of the caller.
    """

    def __init__(
        self,
        stores: Stores,
        outputs: Mapping[Push, Path],
        known: dict[str, Manifest],
        stop_signal: StopSignal,
        report: Reporter,
        job_log: JobLog,
        *,
        interval: float,
        scratch: Path,
        written: Mapping[str, WrittenObjects] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stores = stores
        self._outputs = outputs
        self._known = known
        self._given = dict(known)
        self._written = dict(written or {})
        self._stop_signal = stop_signal
        self._report = report
        self._log = job_log
        self._interval = interval
        self._packer = Packer(scratch, job_log)
        self._clock = clock
        self._deadline = math.inf
        self._completing = False
        stores.limit(self._left)
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="mirror", daemon=True)

    def start(self) -> None:
        if any(not item.pack for item in self._outputs):
            self._thread.start()

    def close(self) -> None:
        """Stop the thread after its current upload.

        An upload ends after ten seconds if its store does not answer.
        """
        self._closed.set()
        self._deadline = self._clock() + _CLOSING
        if self._thread.ident is not None:
            self._thread.join()

    def finish(self, budget: float) -> None:
        """Upload what is left and verify it. Retry for ``budget`` seconds.

        Raises:
            Interrupted: the task may no longer write outputs.
            Refused: all is stored except what the store can never accept.
            DanluError, OSError: the last error of an upload that did not succeed.
        """
        self.close()
        # The store itself would retry for longer. This deadline also limits its retries.
        self._deadline = self._clock() + budget
        self._completing = True
        pause = _PAUSE
        while True:
            try:
                self._push_all(final=True)
                self._report.wait(None)
                return
            except Refused:
                raise  # a retry cannot change a name that the store refuses
            except (DanluError, OSError) as error:
                if self._clock() + pause > self._give_up_at():
                    raise
                log.warning("push failed, trying again in=%.0f error=%s", pause, error)
                until = self._report_waiting(str(error))
                self._log.write_line(get_message("log.store_retry", until=until, error=error))
            self._pause(pause)
            pause = min(pause * 2, _MAX_PAUSE)

    @property
    def sums(self) -> set[tuple[int, str]]:
        """Size and SHA-256 of every file that is stored."""
        marks = (mark for manifest in self._known.values() for mark in manifest.files.values())
        return {(mark.size, mark.sha256) for mark in marks}

    @property
    def pushed(self) -> tuple[int, int]:
        """Number and bytes of the files that this job stored, without those of earlier jobs."""
        sizes = [
            mark.size
            for what, manifest in self._known.items()
            for path, mark in manifest.files.items()
            if self._is_own(what, path, mark)
        ]
        return len(sizes), sum(sizes)

    def _is_own(self, what: str, path: str, mark: FileRecord) -> bool:
        given, written = self._given.get(what), self._written.get(what)
        if written is not None and path in written.etags:
            return True
        return given is None or given.files.get(path) != mark

    def _run(self) -> None:
        interval, failing = self._interval, False
        while not self._closed.wait(interval):
            try:
                self._push_all(final=False)
                interval, failing = self._interval, False
            except Interrupted:
                return
            except (DanluError, OSError) as error:
                if not failing:
                    self._log.write_line(get_message("log.not_synced", error=error))
                log.warning("mirror failed error=%s", error)
                interval, failing = min(interval * 2, max(_SLOWEST, self._interval)), True

    def _push_all(self, *, final: bool) -> None:
        for item, source in self._outputs.items():
            folder = self._packed(item, source, final) if item.pack else source
            if folder is None:
                continue
            progress = self._report.transfer(item.what, self._check)
            self._known[item.what] = push(
                folder,
                self._stores.at(item.uri),
                self._known.get(item.what),
                progress,
                final=final,
                written=self._written.setdefault(item.what, WrittenObjects()),
            )

    def _packed(self, item: Push, source: Path, final: bool) -> Path | None:
        return self._packer.folder(item, source, self._check) if final else None

    def _left(self) -> float:
        """Return how many more seconds to wait for a store that does not answer."""
        self._check()
        left = self._give_up_at() - self._clock()
        if self._completing and left > 0 and not self._report.waits:
            # A remote store retries by itself and reports nothing meanwhile.
            until = self._report_waiting(get_message("output.store_silent"))
            self._log.write_line(get_message("log.store_silent", until=until))
        return left

    def _give_up_at(self) -> float:
        """Return the time at which retries end.

        After a stop request they end soon after the grace period, before the executor kills the
        agent (see ``LocalTaskStopper``).
        """
        if not self._completing or self._stop_signal.request is None:
            return self._deadline
        return min(self._deadline, self._clock() + self._stop_signal.grace_left() + _AFTER_GRACE)

    def _report_waiting(self, why: str) -> str:
        """Report how long the task still waits for its store. Return the end as a time of day."""
        until = time.time() + self._give_up_at() - self._clock()
        self._report.wait(Waiting(why, until))
        return time.strftime("%H:%M:%S", time.localtime(until))

    def _check(self) -> None:
        request = self._stop_signal.request
        if request is not None and request.why.forbids_writes:
            raise Interrupted

    def _pause(self, seconds: float) -> None:
        until = self._clock() + seconds
        while (left := min(until, self._give_up_at()) - self._clock()) > 0:
            self._check()
            self._stop_signal.wait(left)
        self._check()
