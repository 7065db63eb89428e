"""Signed S3 requests, sent by urllib3. Keys may contain ``//`` and ``..``."""

import hashlib
import hmac
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from danlu.errors import Refused
from danlu.settings import Endpoint
from danlu.storage.api import etag_in
from danlu.storage.s3.answers import (
    CUT_OFF,
    LATE,
    NO_CONNECTION,
    NO_TLS,
    SILENCE,
    TOO_LARGE,
    UNTRUSTED,
    S3Error,
    TransientS3Error,
    fault,
)

if TYPE_CHECKING:
    import ssl

    from urllib3 import HTTPConnectionPool
    from urllib3.response import BaseHTTPResponse


REGION = "us-east-1"  # the default, which services without regions expect
_METHOD = "AWS4-HMAC-SHA256"


@dataclass(frozen=True)
class Signer:
    """A signer of requests (AWS Signature Version 4) with the access key of an endpoint."""

    endpoint: Endpoint
    clock: Callable[[], float] = field(default=time.time, compare=False)

    def sign(
        self, method: str, host: str, path: str, query: str, headers: Mapping[str, str], body: bytes
    ) -> dict[str, str]:
        """Return the headers to send, including the signature.

        ``path`` and ``query`` must be encoded as they will be sent. All given headers and the body
        are signed.
        """
        now = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(self.clock()))
        digest = hashlib.sha256(body).hexdigest()
        signed = {name.lower(): " ".join(value.split()) for name, value in headers.items()}
        signed |= {"host": host, "x-amz-content-sha256": digest, "x-amz-date": now}
        if self.endpoint.token:
            signed["x-amz-security-token"] = str(self.endpoint.token)
        names = ";".join(sorted(signed))
        lines = "".join(f"{name}:{signed[name]}\n" for name in sorted(signed))
        request = "\n".join((method, path, query, lines, names, digest))
        scope = f"{now[:8]}/{self._region}/s3/aws4_request"
        text = f"{_METHOD}\n{now}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
        key = _key(str(self.endpoint.secret_key), now[:8], self._region)
        signature = hmac.digest(key, text.encode(), "sha256").hex()
        credential = f"Credential={self.endpoint.access_key}/{scope}"
        signed["authorization"] = (
            f"{_METHOD} {credential}, SignedHeaders={names}, Signature={signature}"
        )
        return signed

    @property
    def _region(self) -> str:
        return self.endpoint.region or REGION


def encoded(query: Mapping[str, str]) -> str:
    """Return a query as it is signed and sent: sorted and percent-encoded."""
    pairs = sorted((quote(name, safe="~"), quote(value, safe="~")) for name, value in query.items())
    return "&".join(f"{name}={value}" for name, value in pairs)


@lru_cache(maxsize=16)
def _key(secret: str, day: str, region: str) -> bytes:
    key = f"AWS4{secret}".encode()
    for part in (day, region, "s3", "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    return key


def bucket_url(endpoint: Endpoint, bucket: str) -> str:
    """Return the URL of a bucket, or of the service if ``bucket`` is empty."""
    if not bucket:
        return endpoint.endpoint
    if endpoint.addressing == "path":
        return f"{endpoint.endpoint}/{bucket}"
    scheme, _, host = endpoint.endpoint.partition("://")
    return f"{scheme}://{bucket}.{host}"


def quoted(key: str) -> str:
    return quote(key, safe="/~")


class Requests:
    """Builder of requests to one bucket, signed if its endpoint has an access key."""

    def __init__(self, endpoint: Endpoint, bucket: str) -> None:
        self.url = bucket_url(endpoint, bucket)
        parts = urlsplit(self.url)
        self.host = parts.netloc
        self._path = parts.path
        self._signer = Signer(endpoint) if endpoint.access_key else None

    def signed(
        self,
        method: str,
        key: str = "",
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
    ) -> tuple[str, dict[str, str]]:
        """Return the request target (path and query) and the headers to send."""
        path, asked = f"{self._path}/{quoted(key)}", encoded(query) if query else ""
        sent = dict(headers or {})
        if self._signer:
            sent = self._signer.sign(method, self.host, path, asked, sent, body)
        return (f"{path}?{asked}" if asked else path), sent

    def head(
        self,
        method: str,
        key: str = "",
        query: Mapping[str, str] | None = None,
        body: bytes = b"",
    ) -> bytes:
        """Return the request line and headers of a request as bytes."""
        target, headers = self.signed(method, key, query, None, body)
        headers = {**headers, "host": self.host, "accept-encoding": "identity"}
        if method == "PUT":
            headers["content-length"] = str(len(body))
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        return f"{method} {target} HTTP/1.1\r\n{lines}\r\n".encode("latin-1")


PIECE = 1 << 20
_CONNECTIONS = 32
MAX_ANSWER = 16 << 20  # max bytes of a response without an object; listing pages have a few MB


@dataclass(frozen=True)
class Timeouts:
    """Seconds to connect, and seconds without data on an open connection."""

    connect: float = 10.0
    silence: float = 60.0


@dataclass(frozen=True)
class S3Response:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def etag(self) -> str:
        return etag_in(self.headers)


def trusted(endpoint: Endpoint) -> str:
    """Return the path of the CA bundle for an endpoint, or "" if there is none.

    An endpoint without its own ``ca_bundle`` uses the CA file of this machine.

    Raises:
        Refused: the ``ca_bundle`` of the endpoint cannot be read or has no certificate.
    """
    import ssl

    if not endpoint.ca_bundle:
        return ssl.get_default_verify_paths().cafile or ""
    try:
        with open(endpoint.ca_bundle, encoding="utf-8", errors="replace") as file:
            found = "-----BEGIN CERTIFICATE-----" in file.read()
    except OSError as error:
        raise Refused.from_key(
            "s3.ca_unreadable", ca_bundle=endpoint.ca_bundle, strerror=error.strerror
        ) from None
    if not found:
        raise Refused.from_key("s3.ca_empty", ca_bundle=endpoint.ca_bundle)
    return endpoint.ca_bundle


def tls(endpoint: Endpoint) -> "ssl.SSLContext":
    """Return the TLS context for an endpoint. It verifies host name, dates and signatures.

    The result is the same on every Python version. Python 3.13 and later reject certificates
    without certain extensions, which many private CAs do not set. ``trusted`` selects the CAs.
    """
    import ssl

    context = ssl.create_default_context(cafile=trusted(endpoint) or None)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


class S3Client:
    """The connections to one bucket. Thread-safe. Must not be used after a fork."""

    def __init__(self, endpoint: Endpoint, bucket: str, timeouts: Timeouts) -> None:
        self._requests = Requests(endpoint, bucket)
        self._pool, self._before = _connections(endpoint, self._requests.url, timeouts)

    def request(
        self,
        method: str,
        key: str = "",
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
    ) -> S3Response:
        """Send one request without retries and return the response.

        Raises:
            S3Error: the request failed.
        """
        answer = self._send(method, key, query, headers, body)
        is_object = method == "GET" and not query and answer.status < 300
        content = _content(answer, None if is_object else MAX_ANSWER)
        # For long operations, a service sends status 200 first. The body may contain an error.
        late = method in ("PUT", "POST") and b"<Error>" in content[:400]
        status = 500 if late and answer.status == 200 else answer.status
        if status >= 300:
            raise fault(status, content.decode("utf-8", "replace"))
        found = {name.lower(): value for name, value in answer.headers.items()}
        return S3Response(answer.status, found, content)

    def stream(self, key: str, start: int, end: int, etag: str) -> Iterator[memoryview]:
        """Yield the bytes of a range of the object with this etag.

        Each piece is valid until the next one. All are read from the socket into one buffer, which
        is by far the cheapest way.

        Raises:
            S3Error: the request failed. Status 412: the object has another etag.
        """
        headers = {"range": f"bytes={start}-{end - 1}", "if-match": f'"{etag}"'}
        answer = self._send("GET", key, None, headers, b"")
        if answer.status >= 300:
            raise fault(answer.status, _text(answer))
        left = end - start
        try:
            if etag_in(answer.headers) != etag:
                raise S3Error(412, "")  # some services ignore if-match
            before = start if answer.status == 200 else 0  # 200: the range was ignored
            for piece in _pieces(answer, before + left):
                wanted = piece[min(before, len(piece)) :]
                before -= len(piece) - len(wanted)
                left -= len(wanted)
                if wanted:
                    yield wanted
        finally:
            if left:
                answer.close()
            else:
                answer.release_conn()

    def _send(
        self,
        method: str,
        key: str,
        query: Mapping[str, str] | None,
        headers: Mapping[str, str] | None,
        body: bytes,
    ) -> "BaseHTTPResponse":
        """Send a request and return the response with an unread body."""
        from urllib3.exceptions import HTTPError, SSLError

        target, sent = self._requests.signed(method, key, query, headers, body)
        try:
            return self._pool.urlopen(
                method,
                self._before + target,
                body or None,
                {"accept-encoding": "identity", **sent},
                retries=False,
                redirect=False,
                assert_same_host=False,
                preload_content=False,
                decode_content=False,
            )
        except SSLError as error:
            raise _tls_fault(error.args[0]) from None
        except HTTPError as error:
            raise TransientS3Error(0, _reason(error)) from None

    def close(self) -> None:
        self._pool.close()


def _connections(
    endpoint: Endpoint, url: str, timeouts: Timeouts
) -> tuple["HTTPConnectionPool", str]:
    """Return the connections to a service, and the prefix of request targets on them."""
    # Imported on use, because jobs with local files do not need it and the import takes CPU time.
    import urllib3

    proxy = proxy_of(url)
    proxy = proxy if "://" in proxy or not proxy else f"http://{proxy}"
    safe = url.startswith("https:") or proxy.startswith("https:")
    context = tls(endpoint) if safe else None
    options: dict[str, Any] = {
        "timeout": urllib3.Timeout(connect=timeouts.connect, read=timeouts.silence),
        "maxsize": _CONNECTIONS,
        "ssl_context": context,
    }
    if not proxy:
        return urllib3.PoolManager(**options).connection_from_url(url), ""
    keys = urllib3.util.make_headers(proxy_basic_auth=urllib3.util.parse_url(proxy).auth)
    manager = urllib3.ProxyManager(
        proxy,
        proxy_headers=keys,
        proxy_ssl_context=context,
        **options,
    )
    pool = manager.connection_from_url(url)
    # A proxy needs the absolute URL for http. For https, it forwards an encrypted tunnel.
    scheme, host = urlsplit(url)[:2]
    return pool, f"{scheme}://{host}" if scheme == "http" else ""


def _content(answer: "BaseHTTPResponse", most: int | None) -> bytes:
    """Return the whole body, of at most ``most`` bytes.

    Raises:
        TransientS3Error: the body was cut off.
        S3Error: the body is larger than ``most`` or than the memory.
    """
    from urllib3.exceptions import HTTPError

    try:
        content = answer.read() if most is None else answer.read(most + 1)
    except HTTPError as error:
        raise TransientS3Error(0, _reason(error)) from None
    except (MemoryError, OverflowError):  # the buffer is as large as the service declares
        answer.close()
        raise S3Error(answer.status, TOO_LARGE) from None
    finally:
        answer.release_conn()
    if most is not None and len(content) > most:
        answer.close()
        raise S3Error(answer.status, TOO_LARGE)
    if most is not None and answer.length_remaining:  # urllib3 checks it only for complete reads
        raise TransientS3Error(0, CUT_OFF)
    return content


def _text(answer: "BaseHTTPResponse") -> str:
    """Return the unread body of an error response, or "" if it cannot be read."""
    try:
        return _content(answer, MAX_ANSWER).decode("utf-8", "replace")
    except S3Error:
        return ""


def _pieces(answer: "BaseHTTPResponse", left: int) -> Iterator[memoryview]:
    """Yield ``left`` bytes of a body in pieces. All pieces share one buffer."""
    from http.client import HTTPException

    buffer = memoryview(bytearray(min(PIECE, left)))
    while left:
        try:
            # urllib3 2 has no method to read into a buffer without a copy.
            count = answer._fp.readinto(buffer[:left])  # type: ignore[attr-defined]
        except (OSError, HTTPException) as error:
            silent = isinstance(error, TimeoutError)
            raise TransientS3Error(0, SILENCE if silent else CUT_OFF) from None
        if not count:
            raise TransientS3Error(0, CUT_OFF)
        yield buffer[:count]
        left -= count


def _tls_fault(error: object) -> S3Error:
    """Return the error for a failed TLS connection, transient if it was cut off."""
    import ssl

    if isinstance(error, ssl.SSLCertVerificationError):
        return S3Error(0, UNTRUSTED)
    cut_off = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)
    if isinstance(error, ssl.SSLError) and not isinstance(error, cut_off):
        return S3Error(0, f"{NO_TLS}{error.reason}")
    return TransientS3Error(0, CUT_OFF)


def _reason(error: Exception) -> str:
    """Return a short description of a connection error, without details of the request."""
    from urllib3 import exceptions

    if isinstance(error, exceptions.ReadTimeoutError):
        return SILENCE
    if isinstance(error, exceptions.NewConnectionError | exceptions.ProxyError):
        return NO_CONNECTION
    late = isinstance(error, exceptions.ConnectTimeoutError)
    return LATE if late else CUT_OFF


def proxy_of(url: str) -> str:
    """Return the proxy for a URL from the environment, or "" if there is none."""
    if not any(name.lower().endswith("_proxy") for name in os.environ):
        return ""
    from urllib.request import getproxies, proxy_bypass

    parts = urlsplit(url)
    return "" if proxy_bypass(parts.hostname or "") else getproxies().get(parts.scheme, "")
