"""From the bytes of a file to its text: what Python reads, and what Windows editors write."""

import codecs
import re

from danlu_runtime.repair.finding import Finding

_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_BLANK = re.compile(rb"^[ \t\f]*(?:#.*)?$")
_UTF_16 = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


def decode(data: bytes) -> tuple[str, list[Finding]]:
    """Return the text with ``\\n`` line ends, and what had to be guessed.

    Bytes that are no text in any of the encodings tried raise UnicodeDecodeError.
    """
    for mark, encoding in _UTF_16:
        if data.startswith(mark):
            text = data[len(mark) :].decode(encoding)
            return _tidy(text, [Finding(1, "the file is UTF-16: read so, though Python cannot")])
    body = data.removeprefix(codecs.BOM_UTF8)
    declared, line = _cookie(body)
    if declared and _known(declared):
        try:
            return _tidy(body.decode(declared), [])
        except UnicodeDecodeError:
            pass
    found = []
    if declared and not _known(declared):
        found.append(Finding(line, f"the encoding {declared!r} is unknown: read as UTF-8"))
    try:
        return _tidy(body.decode("utf-8"), found)
    except UnicodeDecodeError as error:
        text = body.decode("gb18030")
        at = body.count(b"\n", 0, error.start) + 1
        return _tidy(text, [Finding(at, "the file is not UTF-8: read as GBK (gb18030)")])


def _cookie(data: bytes) -> tuple[str, int]:
    """Return the encoding a file declares (PEP 263), and its line; ("", 0) without one."""
    for number, line in enumerate(data.split(b"\n", 2)[:2], 1):
        match = _COOKIE.match(line)
        if match:
            return match[1].decode("ascii", "replace"), number
        if not _BLANK.match(line.rstrip(b"\r")):
            break
    return "", 0


def _known(encoding: str) -> bool:
    try:
        codecs.lookup(encoding)
    except LookupError:
        return False
    return True


def _tidy(text: str, found: list[Finding]) -> tuple[str, list[Finding]]:
    end = text.rstrip("\x00\x1a")
    if end != text:
        last = end.count("\n") + 1
        found = [*found, Finding(last, "the mark of DOS at the end of the file was left out")]
    # As Python's own tokenizer ends lines.
    return end.replace("\r\n", "\n").replace("\r", "\n"), found


def join_doubled_ends(data: bytes) -> bytes:
    """Return the file with ``\\r\\r\\n``, which FTP in text mode leaves, as one line end."""
    return data.replace(b"\r\r\n", b"\n")
