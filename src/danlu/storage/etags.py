"""What the etag of an S3 object says about its bytes.

The MD5 sum of an object that came in one piece; of one that came in N parts the MD5 sum of their
sums, and ``-N``. How large the parts were is not said: the sizes that tools use are tried.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import BinaryIO

from danlu.storage.api import Entry

_MD5 = re.compile(r"[0-9a-f]{32}")
_PARTS = re.compile(r"[0-9a-f]{32}-([1-9][0-9]{0,4})")
_MiB = 1 << 20
# Ours, the AWS tools', rclone's, s3cmd's, s3fs's and MinIO's come first.
_SIZES = [n * _MiB for n in (8, 5, 15, 50, 16, 64, 10, 20, 25, 32, 100, 128, 256, 512)]
_CHUNK = 1 << 20


def matches(stream: BinaryIO, entry: Entry) -> bool:
    """Tell whether the bytes of a stream are surely those of the object; its size is the same.

    False where the etag does not tell. The stream is read, several times where it must be.
    """
    if _MD5.fullmatch(entry.etag):
        return _md5(stream, entry.size).hexdigest() == entry.etag
    return any(_in_parts(stream, size, entry) for size in _candidates(entry))


def comparable(entry: Entry) -> bool:
    """Tell whether the etag of an object is made of its bytes."""
    return bool(_MD5.fullmatch(entry.etag) or _PARTS.fullmatch(entry.etag))


def _candidates(entry: Entry) -> Iterator[int]:
    found = _PARTS.fullmatch(entry.etag)
    count = int(found[1]) if found else 0
    return (size for size in _SIZES if count and -(-entry.size // size) == count)


def _in_parts(stream: BinaryIO, size: int, entry: Entry) -> bool:
    if not stream.seekable():
        return False
    stream.seek(0)
    sums, left = b"", entry.size
    while left:
        sums += _md5(stream, min(size, left)).digest()
        left -= min(size, left)
    whole = hashlib.md5(sums, usedforsecurity=False).hexdigest()
    return whole == entry.etag.partition("-")[0]


def _md5(stream: BinaryIO, size: int) -> "hashlib._Hash":
    digest = hashlib.md5(usedforsecurity=False)
    while size and (piece := stream.read(min(size, _CHUNK))):
        digest.update(piece)
        size -= len(piece)
    return digest


def etag_in(headers: Mapping[str, str]) -> str:
    """Return what a service told of an object, without its quotes; empty: nothing."""
    return headers.get("etag", "").strip('"')
