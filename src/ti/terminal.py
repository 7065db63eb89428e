"""Where a fit that waits prints: lines, and below them one that rewrites itself."""

import shutil
import sys
import threading
from typing import TextIO

_CLEAR = "\r\x1b[2K"


class Terminal:
    """Safe to use from several threads: no line cuts another in two.

    The moving line is shown on a terminal and in a notebook, and nowhere else: a file that the
    output goes to gets whole lines only.
    """

    def __init__(self, out: TextIO | None = None, err: TextIO | None = None) -> None:
        self._given = (out, err)
        self._lock = threading.Lock()
        self._shown = ""

    # Looked up on use: whoever replaces sys.stdout means us too.
    @property
    def _out(self) -> TextIO:
        return self._given[0] or sys.stdout

    @property
    def _err(self) -> TextIO:
        return self._given[1] or sys.stderr

    @property
    def _notebook(self) -> bool:
        return type(self._out).__module__.partition(".")[0] == "ipykernel"

    @property
    def moves(self) -> bool:
        return self._notebook or self._err.isatty()

    def line(self, text: str) -> None:
        with self._lock:
            self._wipe()
            self._out.write(text + "\n")
            self._out.flush()

    def move(self, text: str) -> None:
        """Show ``text`` on the moving line; empty text takes it away."""
        with self._lock:
            if not self.moves or text == self._shown:
                return
            self._wipe()
            if text:
                width = shutil.get_terminal_size().columns - 1
                self._shown = text[:width]
                stream = self._out if self._notebook else self._err
                stream.write(self._shown)
                stream.flush()

    def _wipe(self) -> None:
        if not self._shown:
            return
        if self._notebook:  # knows the carriage return and no codes of terminals
            self._out.write("\r" + " " * len(self._shown) + "\r")
        else:
            self._err.write(_CLEAR)
            self._err.flush()
        self._shown = ""
