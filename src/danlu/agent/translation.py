"""Carries the translation report out of the box, while the script runs and when it has ended."""

import logging
import os
import re
import threading
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from danlu.agent.redact import Redactor
from danlu.errors import StorageError
from danlu.job.translation import RELAXED, Note, Translation, merged
from danlu.taskdir.box import TRANSLATION, Box
from danlu.taskdir.files import TaskDir

log = logging.getLogger(__name__)

_EVERY = 2.0  # seconds between two looks at the size of a file
_PLACE = re.compile(r"(.+) line (\d{1,9})")


class Reporting:
    """Every method may be called by any thread. What could not be written is tried next time."""

    def __init__(self, files: TaskDir, box: Box, redactor: Redactor) -> None:
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
        """Keep notes of our own."""
        with self._lock:
            self._known = _more(self._known, Translation(tuple(notes)))

    def carry(self) -> None:
        """Bring what is known by now to where the server reads it."""
        with self._lock:
            self._known = _more(self._known, self._told())
            if self._known == self._written:
                return
            try:
                self._files.translate(self._known)
                self._written = self._known
            except (OSError, StorageError) as error:
                log.warning("translation not written error=%s", error)

    def start(self) -> None:
        """Carry from now on whenever the report has grown, until :meth:`close`."""
        self._closed.clear()
        self._thread = threading.Thread(target=self._run, name="translation", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._closed.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        while not self._closed.wait(_EVERY):
            if self._has_grown():
                self.carry()

    def _has_grown(self) -> bool:
        try:
            size = os.lstat(self._box.folder / TRANSLATION).st_size
        except OSError:
            return False
        before, self._size = self._size, size
        return size != before

    def _told(self) -> Translation:
        told = self._box.translation()
        clean = self._redactor.text
        notes = (replace(note, text=clean(note.text), file=clean(note.file)) for note in told.notes)
        return replace(told, notes=tuple(notes))


def _more(known: Translation, told: Translation) -> Translation:
    """Return both; the report is read from its beginning every time."""
    both = merged([replace(known, left_out=0), replace(told, left_out=0)])
    return replace(both, left_out=max(known.left_out, told.left_out, both.left_out))


def relaxed(changes: Iterable[Mapping[str, Any]]) -> list[Note]:
    """Return what the installer did other than asked, as packages.json tells it."""
    notes = []
    for change in changes:
        said, where = str(change["said"]), str(change["where"])
        place = _PLACE.fullmatch(where)
        file, line = (place[1], int(place[2])) if place else (where, 0)
        notes.append(Note(RELAXED, said.replace(f" ({where})", "", 1)[:2000], file[:1000], line))
    return notes
