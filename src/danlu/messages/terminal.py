"""Output of whole lines to a terminal, with a status line below them."""

import sys
import threading
from typing import TextIO

from danlu.messages.text import escape_controls

CLEAR = "\r\x1b[2K"


class TerminalOutput:
    """Output to stdout and stderr.

    It can be used from several threads; lines are never interleaved. The status line is on stderr.
    """

    def __init__(self, out: TextIO | None = None, err: TextIO | None = None) -> None:
        self._given = (out, err)
        self._lock = threading.Lock()
        self._shown = ""

    # Read on each use, because tests and notebooks may replace sys.stdout.
    @property
    def out(self) -> TextIO:
        return self._given[0] or sys.stdout

    @property
    def err(self) -> TextIO:
        return self._given[1] or sys.stderr

    def move(self, text: str) -> None:
        """Show ``text`` as the status line; empty text removes the line."""
        with self._lock:
            if text != self._shown:
                self._draw(text)

    def _draw(self, text: str) -> None:
        self.err.write(CLEAR + escape_controls(text).replace("\n", " "))
        self.err.flush()
        self._shown = text

    def _hide(self) -> None:
        """Remove the status line before another line is written."""
        if self._shown:
            self._draw("")

    def _write(self, stream: TextIO, text: str) -> None:
        with self._lock:
            self._hide()
            stream.write(escape_controls(text) if stream.isatty() else text)
            stream.flush()
