"""Watches what a training tells: its steps, in the box, and its curves, in event files."""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from danlu.agent.event_files import CurveReader, find_event_files
from danlu.agent.report import Reporter
from danlu.errors import StorageError
from danlu.job.curves import Curves
from danlu.job.plan import Push
from danlu.taskdir.box import Box
from danlu.taskdir.files import TaskDir

log = logging.getLogger(__name__)

_EVERY = 1.0
_ANSWER = 60.0  # seconds for the reader; a file may hold a graph of gigabytes
_LAST_ANSWER = 20.0  # when the task only waits for this


class Training:
    """A thread from :meth:`start` to :meth:`close`; curves every ``interval`` seconds."""

    def __init__(
        self,
        files: TaskDir,
        box: Box,
        report: Reporter,
        outputs: Mapping[Push, Path],
        reader: CurveReader,
        *,
        interval: float,
        clean: Callable[[str], str] = str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._files = files
        self._box = box
        self._report = report
        self._outputs = outputs
        self._reader = reader
        self._interval = interval
        self._clean = clean
        self._clock = clock
        self._undrawn: Curves | None = None
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="training", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Tell the last of it; to be called when the script has ended."""
        self._closed.set()
        self._thread.join(_LAST_ANSWER)
        if not self._thread.is_alive():
            self._tell_steps()
            self._tell_curves(_LAST_ANSWER)
        self._reader.close()

    def _run(self) -> None:
        due = self._clock() + self._interval
        while not self._closed.wait(min(_EVERY, self._interval)):
            self._tell_steps()
            if self._clock() >= due:
                self._tell_curves(_ANSWER)
                due = self._clock() + self._interval

    def _tell_steps(self) -> None:
        steps = self._box.steps()
        if steps is not None:
            self._report.trained(steps)

    def _tell_curves(self, timeout: float) -> None:
        found = find_event_files(self._outputs)
        if not found:
            return
        self._undrawn = self._reader.ask(found, timeout) or self._undrawn
        if self._undrawn is None:
            return
        try:
            self._files.draw(self._named(self._undrawn))
            self._undrawn = None
        except (OSError, StorageError) as error:
            log.warning("curves not written error=%s", error)

    def _named(self, curves: Curves) -> Curves:
        """A script may have put anything into the name of a curve, a secret too."""
        clean = self._clean
        return replace(
            curves,
            curves=tuple(
                replace(curve, run=clean(curve.run), tag=clean(curve.tag))
                for curve in curves.curves
            ),
        )
