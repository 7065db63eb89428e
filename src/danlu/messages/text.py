"""Formats sizes, durations, times and terminal text for users."""

import re
import time

from danlu.messages import get_message


def size(count: float) -> str:
    """Return a number of bytes in the unit that needs at most four digits."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def files_text(count: int) -> str:
    """Return a number of files: '1 file', '2 files'."""
    return get_message("count.file" if count == 1 else "count.files", count=count)


def duration(seconds: float) -> str:
    seconds = max(seconds, 0)
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours:02d} h"


def age(then: float, now: float) -> str:
    """Return roughly how long ago ``then`` was."""
    seconds = max(now - then, 0)
    for key, length in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= length:
            return get_message(f"ago.{key}", count=int(seconds // length))
    return get_message("ago.seconds", count=int(seconds))


def moment(at: float) -> str:
    """Return a time in the local time zone."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))


def clock(at: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(at))


_COLOUR = r"\x1b\[[0-9;:]*m"
# Colours, C0 except tab and newline, DEL, C1 (some terminals read it as ESC and a letter), and the
# two characters that override the text direction.
_OBEYED = re.compile(rf"{_COLOUR}|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202d\u202e]")
_END, _ENDS = "\x1b[0m", ("\x1b[0m", "\x1b[m")
_PICTURES = 0x2400  # first of the pictures of the 32 C0 characters and DEL


def escape_controls(text: str) -> str:
    """Return ``text`` with control characters replaced by pictures (``␛``). Colours stay."""
    if text.isprintable():
        return text
    shown = _OBEYED.sub(_shown, text)
    return "\n".join(map(_ended, shown.split("\n"))) if "\x1b" in shown else shown


def one_line(text: str) -> str:
    """Return ``text`` as one log line, with all unprintable characters escaped."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _ended(line: str) -> str:
    """Return a line with a colour reset at its end. Colours are its only sequences."""
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


def bar(done: float, total: float, cells: int = 20) -> str:
    """Return a bar such as '[#####...............]'. It is full only when all is done."""
    filled = int(cells * min(done / total, 1.0)) if total else cells
    return f"[{'#' * filled}{'.' * (cells - filled)}]"


def transfer_text(done: float, total: float, rate: float) -> str:
    return f"{bar(done, total)}  {size(done)} / {size(total)}  {size(rate)}/s"
