"""Where a fit that waits prints: lines, and one that rewrites itself."""

import shutil
import sys
import threading
from importlib import import_module
from typing import Any, TextIO

from danlu.job.harmless import harmless

_CLEAR = "\r\x1b[2K"


class Terminal:
    """Safe to use from several threads: no line cuts another in two.

    The moving line is shown on a terminal below all others, and in a notebook at a place of its
    own; nowhere else: a file that the output goes to gets whole lines only.
    """

    def __init__(self, out: TextIO | None = None, err: TextIO | None = None) -> None:
        self._given = (out, err)
        self._lock = threading.Lock()
        self._shown = ""
        self._place: Any = None  # of the moving line, in a notebook

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
            if not self._notebook:
                self._draw("")
            self._out.write((harmless(text) if self._out.isatty() else text) + "\n")
            self._out.flush()

    def move(self, text: str) -> None:
        """Show ``text`` on the moving line; empty text takes it away."""
        with self._lock:
            if self.moves and text != self._shown:
                self._draw(text)

    def _draw(self, text: str) -> None:
        if self._notebook:
            self._show_in_cell(text)
        elif text or self._shown:
            before = _CLEAR if self._shown else ""
            text = harmless(text)[: shutil.get_terminal_size().columns - 1]
            self._err.write(before + text)
            self._err.flush()
        self._shown = text

    def _show_in_cell(self, text: str) -> None:
        """Put the text where the last one was: a carriage return would be kept with the notebook,
        once for every state there ever was."""
        data = {"text/plain": text}
        if self._place is not None:
            self._place.update(data, raw=True)
        elif text:
            # There wherever a notebook is; nothing of ours needs it.
            display = import_module("IPython.display").display
            self._place = display(data, raw=True, display_id=True)
