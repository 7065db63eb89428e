"""Reports the progress of a task: phases, transfers, steps, curves and translation notes."""

import contextlib
import json
import logging
import os
import re
import select
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from danlu.agent.reports.log_capture import Redactor
from danlu.agent.script.processes import Processes
from danlu.errors import PlatformError, StorageError
from danlu.job.plan import Push
from danlu.job.status import (
    RELAXED,
    Curves,
    Isolated,
    Note,
    Phase,
    Progress,
    Steps,
    Transfer,
    Translation,
    Waiting,
    merge_translations,
)
from danlu.job.wire import from_wire
from danlu.storage.folders import walk
from danlu.taskdir.exchange_dir import EVENTS, TRANSLATION, ExchangeDir
from danlu.taskdir.files import TaskDir

log = logging.getLogger(__name__)

_PROGRESS_INTERVAL = 0.5


class Reporter:
    """Writes the progress of a task to its directory."""

    def __init__(self, files: TaskDir, clock: Callable[[], float] = time.monotonic) -> None:
        self._files = files
        self._clock = clock
        self._phases: list[Phase] = []
        self._transfer: Transfer | None = None
        self._steps: Steps | None = None
        self._still: float | None = None
        self._waiting: Waiting | None = None
        self._isolated: Isolated | None = None
        self._kept_at: tuple[str, ...] = ()
        self._behind = False  # the last report could not be written
        self.carried = 0  # bytes transferred so far
        self._lock = threading.Lock()

    @property
    def phase(self) -> str:
        return self._phases[-1].name if self._phases else ""

    @property
    def progress(self) -> Progress:
        phases = tuple(self._phases)
        rest = (self._waiting, self._isolated, self._kept_at)
        return Progress(phases, self._transfer, self._steps, self._still, *rest)

    def begin(self, phase: str) -> None:
        with self._lock:
            self._phases.append(Phase(phase, time.time()))
            self._write(None)

    def transfer(self, what: str, check: Callable[[], None]) -> Callable[[int, int], None]:
        """Return a progress function for one transfer; ``check`` may end it by raising."""
        began = self._clock()
        last, before = began, 0

        def progress(done: int, total: int) -> None:
            nonlocal last, before
            check()
            if done > before:
                self.carried += done - before
                before = done
            now = self._clock()
            if now - last < _PROGRESS_INTERVAL:
                return
            last = now
            with self._lock:
                self._write(Transfer(what, done, total, done / max(now - began, 1e-6)))

        return progress

    def cached(self, what: str, size: int) -> None:
        with self._lock:
            self._write(Transfer(what, size, size, 0.0, cached=True))

    def trained(self, steps: Steps) -> None:
        """Report how far the training of the script is."""
        with self._lock:
            if steps != self._steps:
                self._steps = steps
                self._write(self._transfer)

    def still(self, since: float | None) -> None:
        """Report since when the script is idle (Unix time), or None if it is active."""
        with self._lock:
            if since != self._still or self._behind:
                self._still = since
                self._write(self._transfer)

    @property
    def waits(self) -> bool:
        """True if a wait for a store is being reported."""
        return self._waiting is not None

    def wait(self, waiting: Waiting | None) -> None:
        """Report that the task waits for a store, or None when it no longer waits."""
        with self._lock:
            if waiting != self._waiting:
                self._waiting = waiting
                self._write(self._transfer)

    def started(self, isolated: Isolated) -> None:
        """Report how the running script is isolated."""
        with self._lock:
            self._isolated = isolated
            self._write(self._transfer)

    def kept(self, folders: Iterable[str]) -> None:
        """Report the folders, other than outputs, where the script replaced older objects."""
        with self._lock:
            found = tuple(folders)
            if found != self._kept_at:
                self._kept_at = found
                self._write(self._transfer)

    def repeat(self) -> None:
        """Write the last report once more."""
        with self._lock:
            self._write(self._transfer)

    def _write(self, transfer: Transfer | None) -> None:
        self._transfer = transfer
        try:
            self._files.write_progress(self.progress)
            self._behind = False
        except (OSError, StorageError) as error:
            self._behind = True
            log.debug("progress not written error=%s", error)


_TRANSLATION_INTERVAL = 2.0  # seconds between two checks of the size of a file
_PLACE = re.compile(r"(.+) line (\d{1,9})")


class TranslationSync:
    """Copies the translation report to the task directory.

    Every method may be called by any thread. What could not be written is retried next time.
    """

    def __init__(self, files: TaskDir, box: ExchangeDir, redactor: Redactor) -> None:
        self._files = files
        self._box = box
        self._redactor = redactor
        self._known = Translation()
        self._written = Translation()
        self._size = -1
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, notes: Iterable[Note]) -> None:
        """Add notes of the agent."""
        with self._lock:
            self._known = _more(self._known, Translation(tuple(notes)))

    def sync(self) -> None:
        """Write all notes known so far to the task directory, where the server reads them."""
        with self._lock:
            self._known = _more(self._known, self._reported())
            if self._known == self._written:
                return
            try:
                self._files.write_translation(self._known)
                self._written = self._known
            except (OSError, StorageError) as error:
                log.warning("translation not written error=%s", error)

    def start(self) -> None:
        """Start a thread that calls :meth:`sync` whenever the report has grown.

        It runs until :meth:`close`.
        """
        self._closed.clear()
        self._thread = threading.Thread(target=self._run, name="translation", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._closed.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        while not self._closed.wait(_TRANSLATION_INTERVAL):
            if self._has_grown():
                self.sync()

    def _has_grown(self) -> bool:
        try:
            size = os.lstat(self._box.folder / TRANSLATION).st_size
        except OSError:
            return False
        before, self._size = self._size, size
        return size != before

    def _reported(self) -> Translation:
        reported = self._box.translation()
        clean = self._redactor.text
        notes = (
            replace(note, text=clean(note.text), file=clean(note.file)) for note in reported.notes
        )
        return replace(reported, notes=tuple(notes))


def _more(known: Translation, reported: Translation) -> Translation:
    """Return both merged; the report is read from its beginning every time."""
    both = merge_translations([replace(known, left_out=0), replace(reported, left_out=0)])
    return replace(both, left_out=max(known.left_out, reported.left_out, both.left_out))


def relaxed(changes: Iterable[Mapping[str, Any]]) -> list[Note]:
    """Return notes on what the installer changed, from the entries of packages.json."""
    notes = []
    for change in changes:
        sentence, where = str(change["said"]), str(change["where"])
        place = _PLACE.fullmatch(where)
        file, line = (place[1], int(place[2])) if place else (where, 0)
        notes.append(
            Note(RELAXED, sentence.replace(f" ({where})", "", 1)[:2000], file[:1000], line)
        )
    return notes


_READER = (sys.executable, "-m", "danlu.agent.reports.curves")
_MAX_ENTRIES = 20_000  # entries of the outputs that are examined
_MAX_EVENT_FILES = 200
_MAX_DEPTH = 50
_TRIES = 3


def find_event_files(outputs: Mapping[Push, Path]) -> list[tuple[str, str]]:
    """Return run and path of each event file. Links are not followed, pipes are skipped."""
    found: list[tuple[str, str]] = []
    left = _MAX_ENTRIES
    for item, folder in outputs.items():
        before = f"{item.what}/" if len(outputs) > 1 else ""
        for path, folders, names in walk(folder, deepest=_MAX_DEPTH):
            folders.sort()
            left -= len(folders) + len(names)
            run = os.path.normpath(before + os.path.relpath(path, folder))
            for name in sorted(name for name in names if "tfevents" in name):
                if _is_file(os.path.join(path, name)):
                    found.append((run, os.path.join(path, name)))
            if left < 0 or len(found) >= _MAX_EVENT_FILES:
                return found[:_MAX_EVENT_FILES]
    return found


def find_url_event_files(folder: Path, args: Sequence[str]) -> list[tuple[str, str]]:
    """Return run and path of each event file below ``folder``.

    As in an output folder, a run is named by its path below a URL in the arguments of the script.
    Without such a URL it is named by its whole URL.
    """
    given = [arg.partition("=")[2] or arg for arg in args]
    roots = sorted((_plain(arg) for arg in given if "://" in arg), key=len, reverse=True)
    found: list[tuple[str, str]] = []
    if folder.is_symlink():  # the script can write here and may have made a link
        return found
    for path, folders, names in walk(folder, deepest=_MAX_DEPTH):
        folders.sort()
        place = os.path.relpath(path, folder)
        root = next((root for root in roots if f"{place}/".startswith(f"{root}/")), "")
        run = os.path.relpath(place, root) if root else place.replace("/", "://", 1)
        for name in sorted(name for name in names if "tfevents" in name):
            if _is_file(os.path.join(path, name)):
                found.append((run, os.path.join(path, name)))
        if len(found) >= _MAX_EVENT_FILES:
            break
    return found[:_MAX_EVENT_FILES]


def _plain(url: str) -> str:
    """Return ``s3/bucket/log`` for ``s3://bucket/log/``."""
    scheme, _, rest = url.partition("://")
    return "/".join([scheme, *(part for part in rest.split("/") if part not in ("", ".", ".."))])


def _is_file(path: str) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


class CurveReader:
    """A process that reads curves. It starts with the first request and ends with :meth:`close`.

    A process that exits or does not answer is replaced, but only a few times.
    """

    def __init__(self, processes: Processes, command: Sequence[str] = _READER) -> None:
        self._processes = processes
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None
        self._failed = 0

    def ask(self, files: Sequence[tuple[str, str]], timeout: float) -> Curves | None:
        """Return the curves in ``files``, or None if nothing is new or no answer came."""
        if self._failed >= _TRIES:
            return None
        try:
            answer = json.loads(self._exchange(json.dumps(files).encode() + b"\n", timeout))
            return None if answer is None else from_wire(Curves, answer)
        except (OSError, ValueError, PlatformError) as error:
            self._failed += 1
            log.warning("curves not read failed=%s error=%s", self._failed, error)
            self.close()
            return None

    def close(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):  # a request that it has not read
                if pipe is not None:
                    pipe.close()
        process.wait()
        self._processes.spared.discard(process.pid)

    def _exchange(self, question: bytes, timeout: float) -> bytes:
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(question)
        process.stdin.flush()
        poll = select.poll()
        poll.register(process.stdout, select.POLLIN | select.POLLHUP)
        deadline = time.monotonic() + timeout
        answer = b""
        while not answer.endswith(b"\n"):
            left = deadline - time.monotonic()
            if left <= 0 or not poll.poll(left * 1000):
                raise PlatformError.from_key("task.curves_slow", timeout=timeout)
            data = os.read(process.stdout.fileno(), 1 << 20)
            if not data:
                raise PlatformError.from_key("task.curves_ended")
            answer += data
        return answer

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd="/"
            )
            self._processes.spared.add(self._process.pid)
        return self._process


_CURVES_INTERVAL = 1.0
_READER_TIMEOUT = 60.0  # seconds for the reader; a file may hold a graph of gigabytes
_LAST_READER_TIMEOUT = 20.0  # after the script, when the task waits only for this


class TrainingMonitor:
    """A thread that reports steps and curves, from :meth:`start` to :meth:`close`.

    Curves are reported every ``interval`` seconds. ``args`` are the arguments of the script. Their
    URLs determine the names of runs.
    """

    def __init__(
        self,
        files: TaskDir,
        box: ExchangeDir,
        report: Reporter,
        outputs: Mapping[Push, Path],
        reader: CurveReader,
        *,
        interval: float,
        args: Sequence[str] = (),
        clean: Callable[[str], str] = str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._files = files
        self._box = box
        self._report = report
        self._outputs = outputs
        self._reader = reader
        self._interval = interval
        self._args = args
        self._clean = clean
        self._clock = clock
        self._undrawn: Curves | None = None
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="training", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Stop the thread and report the rest. Call it when the script has ended."""
        self._closed.set()
        self._thread.join(_LAST_READER_TIMEOUT)
        if not self._thread.is_alive():
            self._report_steps()
            self._report_curves(_LAST_READER_TIMEOUT)
        self._reader.close()

    def _run(self) -> None:
        due = self._clock() + self._interval
        while not self._closed.wait(min(_CURVES_INTERVAL, self._interval)):
            self._report_steps()
            if self._clock() >= due:
                self._report_curves(_READER_TIMEOUT)
                due = self._clock() + self._interval

    def _report_steps(self) -> None:
        steps = self._box.steps()
        if steps is not None:
            self._report.trained(steps)
        self._report.kept(map(self._clean, self._box.kept_at()))

    def _report_curves(self, timeout: float) -> None:
        found = find_event_files(self._outputs)
        found += find_url_event_files(self._box.folder / EVENTS, self._args)
        if not found:
            return
        self._undrawn = self._reader.ask(found, timeout) or self._undrawn
        if self._undrawn is None:
            return
        try:
            self._files.write_curves(self._named(self._undrawn))
            self._undrawn = None
        except (OSError, StorageError) as error:
            log.warning("curves not written error=%s", error)

    def _named(self, curves: Curves) -> Curves:
        """Return the curves with secrets removed from their names.

        A script may have put anything into the name of a curve.
        """
        clean = self._clean
        return replace(
            curves,
            curves=tuple(
                replace(curve, run=clean(curve.run), tag=clean(curve.tag))
                for curve in curves.curves
            ),
        )
