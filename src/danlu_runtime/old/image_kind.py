"""``imghdr``, removed in Python 3.13: the type of an image by its first bytes."""

from typing import Any

_MARKS = (
    (b"\xff\xd8\xff", "jpeg"),
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"GIF87a", "gif"),
    (b"GIF89a", "gif"),
    (b"BM", "bmp"),
    (b"MM", "tiff"),
    (b"II", "tiff"),
)


def what(file: Any, h: bytes | None = None) -> str | None:
    """Return jpeg, png, gif, bmp, tiff or webp; None for any other file."""
    if h is None:
        if hasattr(file, "read"):
            start = file.tell()
            h = file.read(32)
            file.seek(start)
        else:
            with open(file, "rb") as opened:
                h = opened.read(32)
    head = bytes(h or b"")
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "webp"
    return next((kind for mark, kind in _MARKS if head.startswith(mark)), None)
