"""Tells how far the training is: ``progress.json`` in the box, once a second at most.

Between two of those the step alone is noted, in a file of eight bytes: who is killed has no time to
tell where, and whether it was at the same step as the time before decides what follows.
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

_EVERY = 1.0
_NOTED = 0.01  # seconds between two notes of the step: a note costs microseconds
_SAMPLES = 15  # a rate is that of the last so many seconds


class Progress:
    """Written by the process it was made in, never by one that was forked from it."""

    def __init__(self, box: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = os.path.join(box, "progress.json")
        self._note_path = os.path.join(box, "step")
        self._temporary = os.path.join(box, f".progress-{os.getpid()}.tmp")
        self._pid = os.getpid()
        self._clock = clock
        self._next = 0.0
        self._note_at = 0.0
        self._offset = 0  # of the global step to what was counted
        self._counted = 0
        self._samples: deque[tuple[float, int]] = deque(maxlen=_SAMPLES)
        self._aim: int | None = None
        self.total: int | None = None  # the global step it goes to, where that is known
        atexit.register(self.finish)

    def is_due(self) -> bool:
        return self._clock() >= self._next

    def tell(self, counted: int, limit: int | None, global_step: int | None) -> None:
        """Write where the training is; ``counted`` steps were made by this process."""
        self._next = self._clock() + _EVERY
        self._counted = counted
        if global_step is not None:
            self._offset = global_step - counted
        known = [total for total in (self.total, limit and limit + self._offset) if total]
        self._aim = min(known, default=None)
        self._write()

    def passed(self, counted: int) -> None:
        """Take note of a step between two of those that are told."""
        self._counted = counted
        if self._samples and self._clock() >= self._note_at:
            self._note()

    def finish(self) -> None:
        """Tell the last step."""
        if self._samples and self._counted + self._offset != self._samples[-1][1]:
            with suppress(OSError):  # the box is gone with its task
                self._write()

    def _rate(self) -> float:
        (first, done), (last, now_done) = self._samples[0], self._samples[-1]
        return max(now_done - done, 0) / (last - first) if last > first else 0.0

    def _write(self) -> None:
        if os.getpid() != self._pid:
            return
        step = self._counted + self._offset
        self._samples.append((self._clock(), step))
        told: dict[str, Any] = {
            "step": step,
            "total": self._aim,
            "rate": round(self._rate(), 3),
            "time": time.time(),
        }
        with open(self._temporary, "w", encoding="utf-8") as file:
            json.dump(told, file)
        os.replace(self._temporary, self._path)
        self._note()

    def _note(self) -> None:
        """Write the step down. No descriptor stays open: a script may close it and take its place.

        Eight bytes of one page are written as one: nobody reads half of them.
        """
        self._note_at = self._clock() + _NOTED
        if os.getpid() != self._pid:
            return
        handle = os.open(self._note_path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            os.pwrite(handle, struct.pack("<q", self._counted + self._offset), 0)
        finally:
            os.close(handle)
