"""A large object in parts: each tried again by itself, none visible before all are there."""

import contextlib
import hashlib
import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import BinaryIO

from danlu.errors import StorageError
from danlu.storage import s3_answers as answers
from danlu.storage.api import Entry
from danlu.storage.s3_answers import Upload
from danlu.storage.s3_bucket import Bucket, entry
from danlu.storage.s3_faults import Fault
from danlu.storage.s3_notes import Note, noted

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


def upload(
    bucket: Bucket, key: str, first: bytes, rest: BinaryIO, notes: Path | None = None
) -> Entry:
    """Store ``first``, which is one part, and what ``rest`` gives as one object.

    What fails is taken back at once; what was killed, by a later upload to the same folder. With
    a folder for ``notes``, an upload that was killed on this machine is gone on with: parts that
    are there with the very bytes are not sent again.
    """
    with noted(notes, "\0".join((bucket.host, bucket.name, key))) as note:
        there = parts(bucket, key, note.begun) if note and note.begun else None
        spared = note.begun if note and there is not None else ""
        # A key that may write need not be allowed to list, nor every service be able to.
        with contextlib.suppress(Fault, StorageError):
            folder = "".join(key.rpartition("/")[:2])
            sweep(bucket, folder, lambda found: STALE if found == key else DEAD, spared)
        with _begun(bucket, key, spared, note) as identity:
            size, etags = _send(bucket, key, identity, first, rest, there or {})
            return _complete(bucket, key, identity, size, etags)


def parts(bucket: Bucket, key: str, identity: str) -> dict[int, tuple[str, int]] | None:
    """Return etag and size of every part of an upload; None where it cannot be gone on with."""
    query = {"uploadId": identity}
    found: dict[int, tuple[str, int]] = {}
    try:
        while True:
            some, following = answers.parts(bucket.ask("GET", key, query).body)
            found |= some
            if not following or following == query.get("part-number-marker"):
                return found
            query["part-number-marker"] = following
    except (Fault, StorageError):
        return None


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


def sweep(bucket: Bucket, prefix: str, older: Callable[[str], float], spared: str = "") -> int:
    """Take back uploads that began over ``older(key)`` seconds ago; return how many."""
    dead = [item for item in _dead(bucket, prefix, older) if item.id != spared]
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
def _begun(bucket: Bucket, key: str, identity: str = "", note: Note | None = None) -> Iterator[str]:
    """Give an upload to fill: the one named, else a new one. Where that fails, it is no more."""
    identity = identity or answers.upload_id(bucket.ask("POST", key, {"uploads": ""}).body)
    if not identity:
        raise StorageError(f"The service began an upload of {key!r} and did not name it.")
    if note:
        note.write(identity)
    try:
        yield identity
    except BaseException:
        with contextlib.suppress(Exception):
            _abort(bucket, key, identity)
        raise
    finally:
        if note:
            note.remove()


def _abort(bucket: Bucket, key: str, identity: str) -> None:
    try:
        bucket.ask_once("DELETE", key, {"uploadId": identity})
    except Fault as fault:
        if fault.status != 404:  # done already
            raise


def _send(
    bucket: Bucket,
    key: str,
    identity: str,
    first: bytes,
    rest: BinaryIO,
    there: Mapping[int, tuple[str, int]],
) -> tuple[int, list[str]]:
    """Send all parts that are not there; return the size of all and the etag of each."""

    def put(number: int, data: bytes) -> str:
        if number in there:
            etag = hashlib.md5(data, usedforsecurity=False).hexdigest()
            if there[number] == (etag, len(data)):
                return etag
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
