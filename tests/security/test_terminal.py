"""Text of others on a person's terminal and in our log: it is shown, never obeyed."""

import io
import logging

import pytest

from danlu.cli.session import Screen
from danlu.messages.text import escape_controls, one_line
from danlu.server.__main__ import _OneLine
from ti.following import Terminal

OBEYED = [
    "\x1b[2J", "\x1b[1;1H", "\x1b]0;title\x07", "\x1b]52;c;cm0gLXJm\x07", "\x1b[6n",
    "\x1bc", "\x07",
    "\x1b]8;;http://evil\x1b\\", "\x9b2J", "\x90q\x9c", "\x1bP+q\x1b\\", "\x08\x08", "\x0b",
    "\x7f", "\r",
    "\x1b[?1049h", "\x0e", "\x1b[31", "\x00", "\x1b[5i",
]  # fmt: skip


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("text", OBEYED, ids=ascii)
def test_what_a_terminal_would_obey_is_shown(text):
    out, err = Tty(), Tty()
    screen = Screen({}, out, err, color="never")
    screen.data(f"before {text} after")
    screen.note(f"before {text} after")
    Terminal(out, err).line(f"before {text} after")

    for shown in (out.getvalue(), err.getvalue(), escape_controls(text)):
        assert not set(shown) & set(map(chr, (*range(9), *range(11, 32), *range(127, 160))))
        assert "before" in shown or shown == escape_controls(text)


def test_colour_and_tabs_and_every_language_stay(monkeypatch):
    text = "\x1b[1;31mred\x1b[0m\tand 中文 and \u202b\u05d0 and \U0001f600\n"

    assert escape_controls(text) == text


@pytest.mark.parametrize("opened", ["\x1b[8m", "\x1b[31m", "\x1b[0;30;40m", "\x1b[38:5:0m"])
def test_colour_ends_with_its_line(opened):
    """Else a line that conceals what follows would conceal ours, and the shell after it."""
    out = Tty()
    screen = Screen({}, out, Tty(), color="never")

    screen.data(f"a {opened}b\nc")
    screen.data("ours")

    assert out.getvalue() == f"a {opened}b\x1b[0m\nc\nours\n"


def test_nothing_turns_the_letters_of_a_line_around():
    assert escape_controls("a\u202egnp.exe\u202dz") == "a\ufffdgnp.exe\ufffdz"


def test_to_a_file_everything_goes_as_it_is():
    out = io.StringIO()

    Screen({}, out, io.StringIO()).data("\x1b[2J\r\x07")

    assert out.getvalue() == "\x1b[2J\r\x07\n"


def test_the_moving_line_is_one_line():
    err = Tty()

    Screen({}, Tty(), err).move("a\nb\x1b[2Jc")

    assert err.getvalue() == "\r\x1b[2Ka b␛[2Jc"


@pytest.mark.parametrize("text", ["a\nb", "a\r\nb", "a\u2028b", "a\x1b[2Jb", "a\0b", "a\x85b"])
def test_a_line_of_the_log_is_one_line(text):
    handler = logging.StreamHandler(stream := io.StringIO())
    handler.setFormatter(_OneLine("%(levelname)s %(message)s"))
    record = logging.LogRecord("danlu", logging.INFO, "", 0, "path=%s", (text,), None)

    handler.emit(record)

    assert len(stream.getvalue().splitlines()) == 1
    assert stream.getvalue().rstrip("\n").isprintable()
    assert one_line("plain 中文") == "plain 中文"
