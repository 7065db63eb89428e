"""A small S3 service in memory, served over HTTP, with errors that tests define."""

import contextlib
import hashlib
import hmac
import re
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit
from xml.sax.saxutils import escape

from danlu.settings import Endpoint, Secret

_AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/s3/aws4_request, ?"
    r"SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})"
)


def fault(
    method: str, target: str, headers: Mapping[str, str], body: bytes, keys: Mapping[str, str]
) -> str:
    """Return the S3 error code for a request with an invalid signature, or "" if it is valid.

    ``headers`` have lower-case names; ``keys`` are secret keys by access key.
    """
    match = _AUTHORIZATION.fullmatch(headers.get("authorization", ""))
    if match is None:
        return "AccessDenied"
    access, day, region, names, signature = match.groups()
    if access not in keys:
        return "InvalidAccessKeyId"
    if headers.get("x-amz-content-sha256") != hashlib.sha256(body).hexdigest():
        return "XAmzContentSHA256Mismatch"
    scope = f"{day}/{region}/s3/aws4_request"
    canonical = _canonical(method, target, headers, names)
    text = "\n".join(
        (
            "AWS4-HMAC-SHA256",
            headers.get("x-amz-date", ""),
            scope,
            hashlib.sha256(canonical.encode()).hexdigest(),
        )
    )
    key = f"AWS4{keys[access]}".encode()
    for part in (day, region, "s3", "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    expected = hmac.digest(key, text.encode(), "sha256").hex()
    return "" if hmac.compare_digest(expected, signature) else "SignatureDoesNotMatch"


def _canonical(method: str, target: str, headers: Mapping[str, str], names: str) -> str:
    parts = urlsplit("http://host" + target)
    query = sorted(
        (quote(name, safe="~"), quote(value, safe="~"))
        for name, value in parse_qsl(parts.query, keep_blank_values=True)
    )
    signed = "".join(f"{name}:{' '.join(headers[name].split())}\n" for name in names.split(";"))
    return "\n".join(
        (
            method,
            quote(unquote(parts.path), safe="/~"),
            "&".join(f"{name}={value}" for name, value in query),
            signed,
            names,
            headers.get("x-amz-content-sha256", ""),
        )
    )


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
    """A response.

    ``cut`` is the number of body bytes that are sent before the connection is closed. ``pause`` is
    the time in seconds between each tenth of the body.
    """

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: int | None = None
    pause: float = 0.0


class Reset(Exception):
    """Raised to reset the connection without a response."""


class Silence(Exception):
    """Raised to keep the connection open without ever sending a response."""


Fault = Callable[[Request], Reply | None]  # returns the response to send instead; None: no error


def error(status: int, code: str) -> Reply:
    # Like real services, it contains an access key, which must never reach a log.
    text = f"<Error><Code>{code}</Code><AWSAccessKeyId>{ACCESS}</AWSAccessKeyId></Error>"
    return Reply(status, f'<?xml version="1.0"?>\n{text}'.encode())


class SmallS3:
    """An S3 service in memory. Calls ``faults`` in order before it handles a request."""

    def __init__(self, *buckets: str) -> None:
        self.buckets: dict[str, dict[str, Stored]] = {name: {} for name in buckets}
        self.uploads: dict[str, Unfinished] = {}
        self.faults: list[Fault] = []
        self.after: list[Callable[[Request], None]] = []  # called before the response is sent
        self.requests: list[Request] = []
        self.page = 1000
        self.begun = "2026-01-01T00:00:00.000Z"  # start time of every multipart upload
        self.quiet = threading.Event()  # set at the end, to release silent connections
        self._lock = threading.Lock()
        self._count = 0

    def answer(self, bucket: str, request: Request, target: str) -> Reply:
        with self._lock:
            self.requests.append(request)
            faults = list(self.faults)
        for ask in faults:
            if (reply := ask(request)) is not None:
                return reply
        if code := fault(request.method, target, request.headers, request.body, KEYS):
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
            if not _is_wanted(objects[name], request):
                return error(412, "PreconditionFailed")
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


def _is_wanted(source: Stored, request: Request) -> bool:
    """Return True if the source of a copy is the requested version."""
    wanted = request.headers.get("x-amz-copy-source-if-match", source.etag)
    return wanted.strip('"') == source.etag


def _put_part(objects: Mapping[str, Stored], request: Request, parts: dict[int, bytes]) -> Reply:
    number, data = int(request.query["partNumber"]), request.body
    if source := request.headers.get("x-amz-copy-source"):
        stored = objects[unquote(source).removeprefix("/").partition("/")[2]]
        if not _is_wanted(stored, request):
            return error(412, "PreconditionFailed")
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
    """Return the key, or its common prefix if it has the delimiter."""
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


@contextlib.contextmanager
def serve(
    service: SmallS3, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1"
) -> Iterator[str]:
    """Serve on a free port of this machine, with TLS if ``tls`` is set; yield the URL."""
    server = _Server((host, 0), _Handler)
    if tls:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    server.service = service
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http{'s' if tls else ''}://{host}:{server.server_address[1]}"
    finally:
        service.quiet.set()
        server.shutdown()
        server.server_close()
        thread.join()


def endpoint(url: str, access: str = ACCESS, secret: str = SECRET) -> Endpoint:
    return Endpoint(url, access_key=Secret(access), secret_key=Secret(secret))


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    service: SmallS3

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore errors: the tests disconnect clients on purpose."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def _handle(self) -> None:
        proxied = not self.path.startswith("/")  # as a proxy; the bucket is in the host name
        parts = urlsplit(self.path if proxied else "http://host" + self.path)
        bucket, _, key = unquote(parts.path)[1:].partition("/")
        if proxied:
            bucket, key = parts.netloc.partition(".")[0], unquote(parts.path)[1:]
        target = f"{parts.path}?{parts.query}"
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self.rfile.read(int(headers.get("content-length") or 0))
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        try:
            reply = self.server.service.answer(
                bucket, Request(self.command, key, query, headers, body), target
            )
        except Reset:
            # With a linger time of zero, the kernel sends RST instead of FIN.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            return
        except Silence:
            self.server.service.quiet.wait()
            self.close_connection = True
            return
        self._send(reply)

    def _send(self, reply: Reply) -> None:
        self.send_response(reply.status)
        headers = {"content-length": str(len(reply.body)), **reply.headers}
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self._send_body(reply.body[: reply.cut], reply.pause)
        if reply.cut is not None:
            self.close_connection = True

    def _send_body(self, body: bytes, pause: float) -> None:
        step = len(body) // 10 + 1 if pause else len(body) or 1
        for start in range(0, len(body), step):
            self.wfile.write(body[start : start + step])
            self.server.service.quiet.wait(pause)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _handle

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing. The tests report errors themselves."""
