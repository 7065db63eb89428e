"""A small S3 that keeps any key, and fails as it is told to; ``s3_server`` serves it.

For what a real service cannot be made to do: an outage, a cut connection, half an answer, a
listing that does not mean well. Objects are in memory; requests must be signed.
"""

import hashlib
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote_plus, unquote
from xml.sax.saxutils import escape

from danlu.testing.s3_signature import fault as signature_fault

ACCESS, SECRET, READER = "danlu-full", "danlu-full-secret", "danlu-reader"
KEYS = {ACCESS: SECRET, READER: SECRET}
_RANGE = re.compile(r"bytes=(\d+)-(\d*)")


@dataclass(frozen=True)
class Request:
    method: str
    key: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes = field(repr=False, default=b"")


@dataclass(frozen=True)
class Reply:
    """``cut``: how many bytes of the body are sent before the connection is closed; ``pause``:
    seconds between its tenths."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: int | None = None
    pause: float = 0.0


class Reset(Exception):
    """End the connection without an answer."""


class Silence(Exception):
    """Keep the connection, and never say anything."""


Fault = Callable[[Request], Reply | None]  # what to answer instead; None: nothing is wrong


def error(status: int, code: str) -> Reply:
    # As real ones do: with what must never reach a log.
    text = f"<Error><Code>{code}</Code><AWSAccessKeyId>{ACCESS}</AWSAccessKeyId></Error>"
    return Reply(status, f'<?xml version="1.0"?>\n{text}'.encode())


class SmallS3:
    """The buckets; ``faults`` are asked in turn before each request is done."""

    def __init__(self, *buckets: str) -> None:
        self.buckets: dict[str, dict[str, Stored]] = {name: {} for name in buckets}
        self.uploads: dict[str, Unfinished] = {}
        self.faults: list[Fault] = []
        self.after: list[Callable[[Request], None]] = []  # when it is done, before it is told
        self.requests: list[Request] = []
        self.page = 1000
        self.begun = "2026-01-01T00:00:00.000Z"  # when every multipart upload began
        self.quiet = threading.Event()  # set at the end: lets silent connections go
        self._lock = threading.Lock()
        self._count = 0

    def answer(self, bucket: str, request: Request, target: str) -> Reply:
        with self._lock:
            self.requests.append(request)
            faults = list(self.faults)
        for ask in faults:
            if (reply := ask(request)) is not None:
                return reply
        if code := signature_fault(request.method, target, request.headers, request.body, KEYS):
            return error(403, code)
        if READER in request.headers["authorization"] and request.method in (
            "PUT",
            "POST",
            "DELETE",
        ):
            return error(403, "AccessDenied")
        if not bucket:
            names = "".join(f"<Bucket><Name>{name}</Name></Bucket>" for name in self.buckets)
            return _xml("ListAllMyBucketsResult", f"<Buckets>{names}</Buckets>")
        if bucket not in self.buckets:
            return error(404, "NoSuchBucket")
        with self._lock:
            reply = self._do(self.buckets[bucket], request)
        for ask_after in list(self.after):
            ask_after(request)
        return reply

    def _do(self, objects: "dict[str, Stored]", request: Request) -> Reply:
        if "uploads" in request.query or "uploadId" in request.query:
            return self._multipart(objects, request)
        if not request.key:
            return self._list(objects, request.query)
        if request.method == "PUT":
            return self._put(objects, request)
        if request.method == "DELETE":
            objects.pop(request.key, None)
            return Reply(204)
        return _get(objects.get(request.key), request.headers)

    def _put(self, objects: "dict[str, Stored]", request: Request) -> Reply:
        if request.headers.get("if-none-match") == "*" and request.key in objects:
            return error(412, "PreconditionFailed")
        if source := request.headers.get("x-amz-copy-source"):
            name = unquote(source).removeprefix("/").partition("/")[2]
            if name not in objects:
                return error(404, "NoSuchKey")
            objects[request.key] = objects[name]
            return _xml("CopyObjectResult", f"<ETag>&quot;{objects[name].etag}&quot;</ETag>")
        meta = {k: v for k, v in request.headers.items() if k.startswith("x-amz-meta-")}
        objects[request.key] = stored = Stored(request.body, _md5(request.body), meta)
        return Reply(200, headers={"etag": f'"{stored.etag}"'})

    def _list(self, objects: "dict[str, Stored]", query: Mapping[str, str]) -> Reply:
        after = unquote(query.get("continuation-token", ""))
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        names = {_level(key, prefix, delimiter) for key in objects if key.startswith(prefix)}
        found = sorted(name for name in names if name > after)
        rows = "".join(_row(name, objects, prefix, delimiter) for name in found[: self.page])
        more = len(found) > self.page
        token = quote_plus(found[self.page - 1]) if more else ""
        return _xml(
            "ListBucketResult",
            f"<EncodingType>url</EncodingType><IsTruncated>{str(more).lower()}</IsTruncated>"
            f"<NextContinuationToken>{token}</NextContinuationToken>{rows}",
        )

    def _multipart(self, objects: "dict[str, Stored]", request: Request) -> Reply:
        identity = request.query.get("uploadId", "")
        if request.method == "GET" and identity:
            return self._list_parts(identity, int(request.query.get("part-number-marker", "0")))
        if request.method == "GET":
            return self._list_uploads(request.query.get("prefix", ""))
        if "uploads" in request.query:
            self._count += 1
            self.uploads[f"upload-{self._count}"] = Unfinished(request.key, {})
            return _xml("Initiated", f"<UploadId>upload-{self._count}</UploadId>")
        if identity not in self.uploads:
            return error(404, "NoSuchUpload")
        if request.method == "DELETE":
            del self.uploads[identity]
            return Reply(204)
        parts = self.uploads[identity].parts
        if request.method == "PUT":
            return _put_part(objects, request, parts)
        del self.uploads[identity]
        ordered = [parts[number] for number in sorted(parts)]
        sums = b"".join(bytes.fromhex(_md5(part)) for part in ordered)
        stored = Stored(b"".join(ordered), f"{_md5(sums)}-{len(ordered)}", {})
        objects[request.key] = stored
        return _xml("CompleteResult", f"<ETag>&quot;{stored.etag}&quot;</ETag>")

    def _list_parts(self, identity: str, after: int) -> Reply:
        if identity not in self.uploads:
            return error(404, "NoSuchUpload")
        found = sorted(item for item in self.uploads[identity].parts.items() if item[0] > after)
        rows = "".join(
            f"<Part><PartNumber>{number}</PartNumber><ETag>&quot;{_md5(data)}&quot;</ETag>"
            f"<Size>{len(data)}</Size></Part>"
            for number, data in found[: self.page]
        )
        more = len(found) > self.page
        last = found[self.page - 1][0] if more else 0
        return _xml(
            "ListPartsResult",
            f"<IsTruncated>{str(more).lower()}</IsTruncated>"
            f"<NextPartNumberMarker>{last}</NextPartNumberMarker>{rows}",
        )

    def _list_uploads(self, prefix: str) -> Reply:
        rows = "".join(
            f"<Upload><Key>{quote_plus(item.key, safe='/')}</Key><UploadId>{identity}</UploadId>"
            f"<Initiated>{self.begun}</Initiated></Upload>"
            for identity, item in self.uploads.items()
            if item.key.startswith(prefix)
        )
        return _xml("ListUploads", f"<EncodingType>url</EncodingType>{rows}")


@dataclass(frozen=True)
class Stored:
    data: bytes = field(repr=False)
    etag: str
    meta: Mapping[str, str]


@dataclass(frozen=True)
class Unfinished:
    key: str
    parts: dict[int, bytes] = field(repr=False)


def _put_part(objects: Mapping[str, Stored], request: Request, parts: dict[int, bytes]) -> Reply:
    number, data = int(request.query["partNumber"]), request.body
    if source := request.headers.get("x-amz-copy-source"):
        stored = objects[unquote(source).removeprefix("/").partition("/")[2]]
        data = _get(stored, {"range": request.headers["x-amz-copy-source-range"]}).body
    parts[number] = data
    tag = f'"{_md5(data)}"'
    if source:
        return _xml("CopyPartResult", f"<ETag>{escape(tag)}</ETag>")
    return Reply(200, headers={"etag": tag})


def _get(stored: Stored | None, headers: Mapping[str, str]) -> Reply:
    if stored is None:
        return error(404, "NoSuchKey")
    if headers.get("if-match", stored.etag).strip('"') != stored.etag:
        return error(412, "PreconditionFailed")
    about = {
        "etag": f'"{stored.etag}"',
        "last-modified": "Thu, 01 Jan 2026 00:00:00 GMT",
        **stored.meta,
    }
    size = len(stored.data)
    match = _RANGE.fullmatch(headers.get("range", ""))
    if match is None:
        return Reply(200, stored.data, about)
    start, end = int(match[1]), min(int(match[2] or size - 1), size - 1)
    if start >= size:
        return error(416, "InvalidRange")
    about["content-range"] = f"bytes {start}-{end}/{size}"
    return Reply(206, stored.data[start : end + 1], about)


def _level(key: str, prefix: str, delimiter: str) -> str:
    """Return the key, or the folder that stands for it."""
    head, found, _ = key[len(prefix) :].partition(delimiter) if delimiter else (key, "", "")
    return prefix + head + found if found else key


def _row(name: str, objects: "Mapping[str, Stored]", prefix: str, delimiter: str) -> str:
    shown = escape(quote_plus(name, safe="/"))
    if delimiter and name != prefix and name.endswith(delimiter):
        return f"<CommonPrefixes><Prefix>{shown}</Prefix></CommonPrefixes>"
    return (
        f"<Contents><Key>{shown}</Key><Size>{len(objects[name].data)}</Size>"
        f"<LastModified>2026-01-01T00:00:00.000Z</LastModified>"
        f"<ETag>&quot;{objects[name].etag}&quot;</ETag></Contents>"
    )


def _xml(name: str, inner: str) -> Reply:
    space = "http://s3.amazonaws.com/doc/2006-03-01/"
    return Reply(200, f'<?xml version="1.0"?><{name} xmlns="{space}">{inner}</{name}>'.encode())


def _md5(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()
