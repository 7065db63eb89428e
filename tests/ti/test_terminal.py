"""What is shown where: a terminal, a notebook, a file."""

import io

from ti.terminal import Terminal


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
    assert err.getvalue() == "step 1\r\x1b[2Kstep 2\r\x1b[2K"


def test_a_notebook_knows_no_codes():
    out = Cell()
    terminal = Terminal(out, io.StringIO())

    terminal.move("step 1")
    terminal.line("loss 0.5")

    assert out.getvalue() == "step 1\r      \rloss 0.5\n"


def test_a_long_line_is_cut(monkeypatch):
    monkeypatch.setenv("COLUMNS", "10")
    err = Tty()

    Terminal(io.StringIO(), err).move("x" * 50)

    assert err.getvalue() == "x" * 9
