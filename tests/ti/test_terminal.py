"""What is shown where: a terminal, a notebook, a file."""

import io
import sys
from types import ModuleType

import pytest

from danlu.messages.terminal import CLEAR
from ti.following import Terminal


class Tty(io.StringIO):
    def isatty(self):
        return True


class Cell(io.StringIO):
    """The stream a notebook gives its cells."""


Cell.__module__ = "ipykernel.iostream"


def test_a_file_gets_whole_lines_only():
    out, err = io.StringIO(), io.StringIO()
    terminal = Terminal(out, err)

    terminal.move("step 1")
    terminal.line("loss 0.5")

    assert (out.getvalue(), err.getvalue()) == ("loss 0.5\n", "")


def test_on_a_terminal_the_moving_line_gives_way():
    out, err = io.StringIO(), Tty()
    terminal = Terminal(out, err)

    terminal.move("step 1")
    terminal.move("step 1")
    terminal.line("loss 0.5")
    terminal.move("step 2")
    terminal.move("")

    assert out.getvalue() == "loss 0.5\n"
    assert err.getvalue() == f"{CLEAR}step 1{CLEAR}{CLEAR}step 2{CLEAR}"


class Place:
    """What IPython gives for a place in a cell that can be shown anew."""

    def __init__(self, shown):
        self.shown = shown

    def update(self, data, *, raw):
        self.shown.append(data["text/plain"])


@pytest.fixture
def shown(monkeypatch):
    """IPython's display, as far as it is used: what was shown, in order."""
    seen = []
    module = ModuleType("IPython.display")
    module.display = lambda data, *, raw, display_id: (
        Place(seen).update(data, raw=raw) or Place(seen)
    )
    monkeypatch.setitem(sys.modules, "IPython", ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    return seen


def test_notebook_line_updates_in_place(shown):
    out = Cell()
    terminal = Terminal(out, io.StringIO())

    terminal.move("step 1")
    terminal.line("loss 0.5")
    terminal.move("step 2")
    terminal.move("step 2")
    terminal.move("")

    assert out.getvalue() == "loss 0.5\n"
    assert shown == ["step 1", "step 2", ""]


def test_a_long_line_is_cut(monkeypatch):
    monkeypatch.setenv("COLUMNS", "10")
    err = Tty()

    Terminal(io.StringIO(), err).move("x" * 50)

    assert err.getvalue() == CLEAR + "x" * 9
