"""What a terminal is shown: a real one, at the other end of a pseudo-terminal."""

import io
import os

import pytest

from danlu.cli.session import Screen
from danlu.messages.terminal import CLEAR


class Terminal:
    def __init__(self) -> None:
        self._master, slave = os.openpty()
        self.stream = open(slave, "w", encoding="utf-8")  # noqa: SIM115

    def shown(self) -> str:
        self.stream.close()
        seen = b""
        try:
            while piece := os.read(self._master, 4096):
                seen += piece
        except OSError:  # Linux returns EIO when the other end is closed
            pass
        os.close(self._master)
        return seen.decode().replace("\r\n", "\n")


@pytest.mark.parametrize(
    ("env", "color", "painted"),
    [
        ({}, "auto", True),
        ({"NO_COLOR": "1"}, "auto", False),
        ({"NO_COLOR": ""}, "auto", True),
        ({"TERM": "dumb"}, "auto", False),
        ({"NO_COLOR": "1"}, "always", True),
        ({}, "never", False),
    ],
)
def test_colour_on_a_terminal(env, color, painted):
    terminal = Terminal()
    screen = Screen(env, terminal.stream, terminal.stream, color)

    text = screen.paint("成功", "green")

    terminal.shown()
    assert (text != "成功") is painted


@pytest.mark.parametrize(("env", "painted"), [({}, False), ({"FORCE_COLOR": "1"}, True)])
def test_colour_in_a_pipe(env, painted):
    screen = Screen(env, io.StringIO(), io.StringIO())

    assert (screen.paint("x", "red bold") == "\x1b[31;1mx\x1b[0m") is painted


def test_line_of_log_takes_moving_line_away_first():
    terminal = Terminal()
    screen = Screen({}, terminal.stream, terminal.stream)

    screen.move("fetch data_url  1 MB/s")
    screen.data("step 1")
    screen.data("step 2")
    screen.move("")

    assert terminal.shown() == f"{CLEAR}fetch data_url  1 MB/s{CLEAR}step 1\nstep 2\n"


def test_nothing_moves_in_pipe_or_on_dumb_terminal():
    terminal = Terminal()

    assert not Screen({}, io.StringIO(), io.StringIO()).moves
    assert not Screen({"TERM": "dumb"}, terminal.stream, terminal.stream).moves
    assert Screen({"TERM": "xterm"}, terminal.stream, terminal.stream).moves

    terminal.shown()
