"""``md5``: a hash of bytes or, as in Python 2, of text."""

import hashlib
from typing import Any


def new(string: str | bytes = b"") -> Any:
    return hashlib.md5(string.encode() if isinstance(string, str) else string)


md5 = new
