"""A large object in parts: each tried again by itself, none visible before all are there."""

import contextlib
import hashlib
import logging
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import BinaryIO

from danlu.errors import StorageError
from danlu.storage import s3_answers as answers
from danlu.storage.api import Entry
from danlu.storage.s3_answers import Upload
from danlu.storage.s3_bucket import Bucket, entry
from danlu.storage.s3_faults import Fault

log = logging.getLogger(__name__)

PART = 8 << 20
TOGETHER = 4  # parts on their way: what an upload holds in memory
LARGEST_COPY = 5 << 30  # of one request, as on every service
STALE = 3600.0  # an upload of the same object that began so long ago was killed,
DEAD = 86_400.0  # and one of its neighbours after so long
_DOUBLE = 1000  # parts of one size; at most 10,000 make an object
COPIED = 1 << 30
_MD5 = re.compile(r"[0-9a-f]{32}")


def read_fully(stream: BinaryIO, size: int) -> bytes:
    """Return ``size`` bytes, fewer only at the end of the stream."""
    pieces, missing = [], size
    while missing and (piece := stream.read(missing)):
        pieces.append(piece)
        missing -= len(piece)
    return b"".join(pieces)


def upload(bucket: Bucket, key: str, first: bytes, rest: BinaryIO) -> Entry:
    """Store ``first``, which is one part, and what ``rest`` gives as one object.

    What fails is taken back at once; what was killed, by a later upload to the same folder.
    """
    # A key that may write need not be allowed to list, nor every service be able to.
    with contextlib.suppress(Fault, StorageError):
        folder = "".join(key.rpartition("/")[:2])
        sweep(bucket, folder, older=lambda found: STALE if found == key else DEAD)
    with _begun(bucket, key) as identity:
        size, etags = _send(bucket, key, identity, first, rest)
        return _complete(bucket, key, identity, size, etags)


def copy(bucket: Bucket, to: str, source: str, size: int) -> Entry:
    """Copy an object that is too large for one request; ``source`` is its name in a header."""
    with _begun(bucket, to) as identity:
        etags = []
        for number, start in enumerate(range(0, size, COPIED), start=1):
            end = min(start + COPIED, size) - 1
            headers = {
                "x-amz-copy-source": source,
                "x-amz-copy-source-range": f"bytes={start}-{end}",
            }
            query = {"partNumber": str(number), "uploadId": identity}
            etags.append(answers.etag(bucket.ask("PUT", to, query, headers).body))
        return _complete(bucket, to, identity, size, etags)


def unfinished(bucket: Bucket, prefix: str) -> Iterator[Upload]:
    """Yield the uploads of keys with this prefix that have not ended."""
    query = {"uploads": "", "prefix": prefix, "encoding-type": "url"}
    seen: set[tuple[str, str]] = set()
    while True:
        found, key, identity = answers.uploads(bucket.ask("GET", "", query).body)
        yield from (item for item in found if item.key.startswith(prefix))
        if not key or (key, identity) in seen:
            return
        seen.add((key, identity))
        query |= {"key-marker": key, "upload-id-marker": identity}


def sweep(bucket: Bucket, prefix: str, older: Callable[[str], float]) -> int:
    """Take back uploads that began over ``older(key)`` seconds ago; return how many."""
    dead = _dead(bucket, prefix, older)
    for item in dead:
        log.info("unfinished upload taken back key=%r", item.key)
        _abort(bucket, item.key, item.id)
    return len(dead)


def left_over(bucket: Bucket, prefix: str, older: Callable[[str], float]) -> list[str]:
    """Return the keys of what :func:`sweep` would take back."""
    return [item.key for item in _dead(bucket, prefix, older)]


def _dead(bucket: Bucket, prefix: str, older: Callable[[str], float]) -> list[Upload]:
    now = time.time()
    found = list(unfinished(bucket, prefix))
    return [item for item in found if now - item.begun >= older(item.key)]


@contextlib.contextmanager
def _begun(bucket: Bucket, key: str) -> Iterator[str]:
    identity = answers.upload_id(bucket.ask("POST", key, {"uploads": ""}).body)
    if not identity:
        raise StorageError(f"The service began an upload of {key!r} and did not name it.")
    try:
        yield identity
    except BaseException:
        with contextlib.suppress(Exception):
            _abort(bucket, key, identity)
        raise


def _abort(bucket: Bucket, key: str, identity: str) -> None:
    try:
        bucket.ask_once("DELETE", key, {"uploadId": identity})
    except Fault as fault:
        if fault.status != 404:  # done already
            raise


def _send(
    bucket: Bucket, key: str, identity: str, first: bytes, rest: BinaryIO
) -> tuple[int, list[str]]:
    """Send all parts; return the size of all and the etag of each."""

    def put(number: int, data: bytes) -> str:
        return bucket.ask(
            "PUT", key, {"partNumber": str(number), "uploadId": identity}, None, data
        ).etag

    etags: list[Future[str]] = []
    going: set[Future[str]] = set()
    size, part = 0, first
    pool = ThreadPoolExecutor(TOGETHER, "danlu-write")
    try:
        while part:
            size += len(part)
            etags.append(pool.submit(put, len(etags) + 1, part))
            going.add(etags[-1])
            if len(going) == TOGETHER:
                done, going = wait(going, return_when=FIRST_COMPLETED)
                for one in done:
                    one.result()  # a part that failed ends the upload now
            part = read_fully(rest, PART << (len(etags) // _DOUBLE))
        return size, [one.result() for one in etags]
    finally:
        pool.shutdown(cancel_futures=True)


def _complete(bucket: Bucket, key: str, identity: str, size: int, etags: list[str]) -> Entry:
    together = _together(etags)
    order = answers.completion(etags)
    try:
        bucket.ask("POST", key, {"uploadId": identity}, None, order)
        found = entry(key, bucket.ask("HEAD", key))
        kept = found.size == size
    except Fault as fault:
        if fault.status != 404:
            raise
        # Asked twice because the first answer was lost? Then the object is there, and is ours.
        found = entry(key, bucket.ask("HEAD", key))
        kept = found.size == size and found.etag == together
    if not kept:
        raise StorageError(
            f"The storage did not keep the object {key!r} as it was written.",
            hint="Another writer may have replaced it at the same time: write it again.",
        )
    return found


def _together(etags: list[str]) -> str:
    """Return the etag S3 gives an object of such parts; empty where they are no MD5 sums."""
    if not all(_MD5.fullmatch(tag) for tag in etags):
        return ""
    whole = hashlib.md5(bytes.fromhex("".join(etags)), usedforsecurity=False)
    return f"{whole.hexdigest()}-{len(etags)}"
