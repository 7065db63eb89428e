"""Reports the training progress in ``progress.json`` in the exchange directory.

The file is written once a second at most. Between two writes only the step is stored, in a file of
eight bytes. A killed process cannot report its last step, and a retry is decided by whether it was
the same step as last time.
"""

import atexit
import json
import os
import struct
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from danlu_runtime.steps.graph import ledger_of

_EVERY = 1.0
_NOTED = 0.01  # seconds between two writes of the step; one takes microseconds
_SAMPLES = 15  # the rate is that of the last _SAMPLES samples


class Progress:
    """Progress of this process; forked children do not write it."""

    def __init__(self, box: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = os.path.join(box, "progress.json")
        self._note_path = os.path.join(box, "step")
        self._temporary = os.path.join(box, f".progress-{os.getpid()}.tmp")
        self._pid = os.getpid()
        self._clock = clock
        self._next = 0.0
        self._note_at = 0.0
        self._offset = 0  # global step minus counted steps
        self._counted = 0
        self._samples: deque[tuple[float, int]] = deque(maxlen=_SAMPLES)
        self._aim: int | None = None
        self._unlimited = ""  # why the step limit cannot end the training
        self.total: int | None = None  # the global step at which training ends, if known
        atexit.register(self.finish)

    def is_due(self) -> bool:
        return self._clock() >= self._next

    def update(self, counted: int, limit: int | None, global_step: int | None) -> None:
        """Write the progress; ``counted`` steps were made by this process."""
        self._next = self._clock() + _EVERY
        self._counted = counted
        if global_step is not None:
            self._offset = global_step - counted
        known = [total for total in (self.total, limit and limit + self._offset) if total]
        self._aim = min(known, default=None)
        self._write()

    def report_unlimited(self, kind: str) -> None:
        """Write that the step limit cannot end the training; ``kind`` is the reason."""
        self._unlimited = kind
        with suppress(OSError):  # the exchange directory was deleted with its task
            self._write()

    def follow(self, counted: int, step: int) -> None:
        """Report steps by the script's own number, ``step`` when ``counted`` steps were made.

        Numbers that are not ahead of the count, such as epoch numbers, are ignored.
        """
        if step - counted <= max(self._offset, 0):
            return
        self._counted, self._offset = counted, step - counted
        self._samples.clear()  # the rate is computed from the new numbers only
        self._write()

    def passed(self, counted: int) -> None:
        """Store a step between two progress writes."""
        self._counted = counted
        if self._samples and self._clock() >= self._note_at:
            self._note()

    def finish(self) -> None:
        """Write the last step."""
        if self._samples and self._counted + self._offset != self._samples[-1][1]:
            with suppress(OSError):  # the exchange directory was deleted with its task
                self._write()

    def _rate(self) -> float:
        (first, done), (last, now_done) = self._samples[0], self._samples[-1]
        return max(now_done - done, 0) / (last - first) if last > first else 0.0

    def _write(self) -> None:
        if os.getpid() != self._pid:
            return
        step = self._counted + self._offset
        self._samples.append((self._clock(), step))
        values: dict[str, Any] = {
            "step": step,
            "total": self._aim,
            "rate": round(self._rate(), 3),
            "time": time.time(),
            "unlimited": self._unlimited,
        }
        with open(self._temporary, "w", encoding="utf-8") as file:
            json.dump(values, file)
        os.replace(self._temporary, self._path)
        self._note()

    def _note(self) -> None:
        """Store the step in a file of eight bytes.

        No descriptor stays open, because a script may close it and reuse its number. A write of
        eight bytes within one page is atomic for readers.
        """
        self._note_at = self._clock() + _NOTED
        if os.getpid() != self._pid:
            return
        handle = os.open(self._note_path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            os.pwrite(handle, struct.pack("<q", self._counted + self._offset), 0)
        finally:
            os.close(handle)


class Resumed:
    """The folders of the checkpoints that this process has restored.

    A loop such as ``for step in range(start, 1000)`` keeps its step in Python and names checkpoints
    by it. The first checkpoint that it saves in a restored folder gives the offset to the counted
    steps.
    """

    def __init__(self) -> None:
        self._folders: set[str] = set()

    def restored(self, path: Any) -> None:
        self._folders.add(os.path.dirname(os.fspath(path)))

    def step_saved(self, session: Any, path: Any, step: Any) -> int | None:
        """Return the step number in the name of a saved checkpoint.

        Return None if nothing was restored from its folder or if the name has no number. Also
        return None if the graph has a step counter, which is read instead.
        """
        if isinstance(step, bool) or not isinstance(step, int | np.integer):
            return None
        if os.path.dirname(os.fspath(path)) not in self._folders:
            return None
        return None if ledger_of(session.graph).stepped else int(step)
