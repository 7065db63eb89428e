"""Text of others on a terminal: what a terminal would obey is shown instead, but for colour.

A log, a file name or an error message may hold sequences that clear the screen, rename the
window, write to the clipboard or make a terminal type an answer. Colour ends with its line: one
of them conceals. To a file or a pipe everything goes as it is.
"""

import re

_COLOUR = r"\x1b\[[0-9;:]*m"
# C0 but tab and newline, DEL, C1, which some terminals take for ESC and a letter, and the two
# marks that turn letters around whatever their language.
_OBEYED = re.compile(rf"{_COLOUR}|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202d\u202e]")
_END, _ENDS = "\x1b[0m", ("\x1b[0m", "\x1b[m")
_PICTURES = 0x2400  # one for each of the first 32, and one for DEL


def harmless(text: str) -> str:
    """Return ``text`` with pictures (``␛``) in place of control characters; colour stays."""
    if text.isprintable():
        return text
    shown = _OBEYED.sub(_shown, text)
    return "\n".join(map(_ended, shown.split("\n"))) if "\x1b" in shown else shown


def one_line(text: str) -> str:
    """Return ``text`` as one line of a log: nothing in it can look like a line of its own."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _ended(line: str) -> str:
    """Return a line whose colour, the only sequence that is left in it, ends with it."""
    last = line.rfind("\x1b")
    return line if last < 0 or line.startswith(_ENDS, last) else line + _END


def _shown(found: re.Match[str]) -> str:
    text = found[0]
    if len(text) > 1:
        return text
    code = ord(text)
    if code < 0x20:
        return chr(_PICTURES + code)
    return chr(_PICTURES + 0x21) if code == 0x7F else "\ufffd"
