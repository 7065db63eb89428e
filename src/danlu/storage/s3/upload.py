"""Multipart uploads and copies of large objects, and their local upload records.

Each part is retried separately. The object is visible only when all parts are complete.
"""

import contextlib
import fcntl
import hashlib
import logging
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import BinaryIO

from danlu.errors import StorageError
from danlu.storage.api import Entry
from danlu.storage.s3 import answers
from danlu.storage.s3.answers import MultipartUpload, S3Error
from danlu.storage.s3.bucket import Bucket, entry


class UploadRecord:
    """The local record of one multipart upload, locked by its writer.

    ``begun``: id of the upload that a killed writer left, or "" if there is none.
    """

    def __init__(self, handle: int, path: Path) -> None:
        self._handle = handle
        self._path = path
        self.begun = os.pread(handle, 4096, 0).decode("utf-8", "replace")

    def write(self, identity: str) -> None:
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, identity.encode(), 0)

    def remove(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._path.unlink()


@contextlib.contextmanager
def lock_upload_record(folder: Path | None, name: str) -> Iterator[UploadRecord | None]:
    """Lock and yield the record of an upload.

    Yield None if there is no usable folder, or if another writer holds the lock.
    """
    handle = None if folder is None else _locked(folder, name)
    if folder is None or handle is None:
        yield None
        return
    try:
        yield UploadRecord(handle, _path(folder, name))
    finally:
        os.close(handle)


def _path(folder: Path, name: str) -> Path:
    return folder / hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()


def _locked(folder: Path, name: str) -> int | None:
    path = _path(folder, name)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.mkdir(exist_ok=True, mode=0o700)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError:
        return None  # no record is possible; records only save time
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(handle).st_ino == os.stat(path).st_ino:  # otherwise it was just removed
            return handle
    except OSError:
        pass
    os.close(handle)
    return None


log = logging.getLogger(__name__)

PART = 8 << 20
TOGETHER = 4  # concurrent parts; an upload holds that many in memory
LARGEST_COPY = 5 << 30  # max bytes of one copy request on every service
STALE = 3600.0  # seconds after which an older upload of the same object is aborted
DEAD = 86_400.0  # the same for uploads of other objects in the same folder
_DOUBLE = 1000  # parts after which the part size doubles; the maximum is 10,000 parts
COPIED = 1 << 30
_MD5 = re.compile(r"[0-9a-f]{32}")


def read_fully(stream: BinaryIO, size: int) -> bytes:
    """Return ``size`` bytes, or fewer at the end of the stream."""
    pieces, missing = [], size
    while missing and (piece := stream.read(missing)):
        pieces.append(piece)
        missing -= len(piece)
    return b"".join(pieces)


def upload(
    bucket: Bucket, key: str, first: bytes, rest: BinaryIO, notes: Path | None = None
) -> Entry:
    """Store ``first``, which is one part, and the content of ``rest`` as one object.

    A failed upload is aborted at once. The upload of a killed process is aborted by a later
    upload to the same folder. With a folder for ``notes``, an upload that was killed on this
    machine is resumed. Parts that are stored with the same bytes are not sent again.
    """
    with lock_upload_record(notes, "\0".join((bucket.host, bucket.name, key))) as note:
        there = parts(bucket, key, note.begun) if note and note.begun else None
        spared = note.begun if note and there is not None else ""
        # An access key with write permission may lack list permission, and some services cannot
        # list uploads.
        with contextlib.suppress(S3Error, StorageError):
            folder = "".join(key.rpartition("/")[:2])
            sweep(bucket, folder, lambda found: STALE if found == key else DEAD, spared)
        with _begun(bucket, key, spared, note) as identity:
            size, etags = _send(bucket, key, identity, first, rest, there or {})
            return _complete(bucket, key, identity, size, etags)


def parts(bucket: Bucket, key: str, identity: str) -> dict[int, tuple[str, int]] | None:
    """Return the etag and size of every part of an upload, or None if it cannot be resumed."""
    query = {"uploadId": identity}
    found: dict[int, tuple[str, int]] = {}
    try:
        while True:
            some, following = answers.parts(bucket.ask("GET", key, query).body)
            found |= some
            if not following or following == query.get("part-number-marker"):
                return found
            query["part-number-marker"] = following
    except (S3Error, StorageError):
        return None


def copy(bucket: Bucket, to: str, source: Mapping[str, str], size: int) -> Entry:
    """Copy an object that is too large for one request.

    ``source``: the headers that name the source object.
    """
    with _begun(bucket, to) as identity:
        etags = []
        for number, start in enumerate(range(0, size, COPIED), start=1):
            end = min(start + COPIED, size) - 1
            headers = {**source, "x-amz-copy-source-range": f"bytes={start}-{end}"}
            query = {"partNumber": str(number), "uploadId": identity}
            etags.append(answers.etag(bucket.ask("PUT", to, query, headers).body))
        return _complete(bucket, to, identity, size, etags)


def unfinished(bucket: Bucket, prefix: str) -> Iterator[MultipartUpload]:
    """Yield the unfinished uploads of keys with this prefix."""
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
    """Abort the uploads that began ``older(key)`` seconds ago or earlier. Return their number.

    ``spared``: id of an upload that is not aborted.
    """
    dead = [item for item in _dead(bucket, prefix, older) if item.id != spared]
    for item in dead:
        log.info("unfinished upload taken back key=%r", item.key)
        _abort(bucket, item.key, item.id)
    return len(dead)


def left_over(bucket: Bucket, prefix: str, older: Callable[[str], float]) -> list[str]:
    """Return the keys of the uploads that :func:`sweep` would abort."""
    return [item.key for item in _dead(bucket, prefix, older)]


def _dead(bucket: Bucket, prefix: str, older: Callable[[str], float]) -> list[MultipartUpload]:
    now = time.time()
    found = list(unfinished(bucket, prefix))
    return [item for item in found if now - item.begun >= older(item.key)]


@contextlib.contextmanager
def _begun(
    bucket: Bucket, key: str, identity: str = "", note: UploadRecord | None = None
) -> Iterator[str]:
    """Yield the id of an upload: ``identity``, or a new one if it is empty.

    If the block fails, the upload is aborted.
    """
    identity = identity or answers.upload_id(bucket.ask("POST", key, {"uploads": ""}).body)
    if not identity:
        raise StorageError.from_key("s3.upload_no_id", key=key)
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
    except S3Error as fault:
        if fault.status != 404:  # already finished or aborted
            raise


def _send(
    bucket: Bucket,
    key: str,
    identity: str,
    first: bytes,
    rest: BinaryIO,
    there: Mapping[int, tuple[str, int]],
) -> tuple[int, list[str]]:
    """Send the parts that are not stored yet. Return the total size and the etag of each part."""

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
                    one.result()  # raises if the part failed, which ends the upload
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
    except S3Error as fault:
        if fault.status != 404:
            raise
        # If the response to an earlier attempt was lost, the object exists and has our etag.
        found = entry(key, bucket.ask("HEAD", key))
        kept = found.size == size and found.etag == together
    if not kept:
        raise StorageError.from_key("store.not_stored", key=key)
    return found


def _together(etags: list[str]) -> str:
    """Return the etag that S3 gives an object of these parts, or "" if they are not MD5 sums."""
    if not all(_MD5.fullmatch(tag) for tag in etags):
        return ""
    whole = hashlib.md5(bytes.fromhex("".join(etags)), usedforsecurity=False)
    return f"{whole.hexdigest()}-{len(etags)}"
