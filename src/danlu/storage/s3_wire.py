"""Signed requests for any key at all, a ``//`` or a ``..`` in it too, sent by urllib3."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from danlu.errors import Refused
from danlu.settings import Endpoint
from danlu.storage.etags import etag_in
from danlu.storage.s3_faults import NO_TLS, UNTRUSTED, Fault, Passing, fault
from danlu.storage.s3_request import Requests

if TYPE_CHECKING:
    from urllib3 import HTTPConnectionPool
    from urllib3.response import BaseHTTPResponse

PIECE = 1 << 20
_CONNECTIONS = 32
LONGEST_ANSWER = 16 << 20  # bytes of one that is no object; a page of a listing has a few million


@dataclass(frozen=True)
class Timeouts:
    """Seconds to connect, and of silence on a connection that is open."""

    connect: float = 10.0
    silence: float = 60.0


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def etag(self) -> str:
        return etag_in(self.headers)


def trusted(endpoint: Endpoint) -> str:
    """Return the file of the authorities whose signature is good; empty: none is known.

    Without one of its own a service is trusted as this machine does.

    Raises:
        Refused: its own cannot be read.
    """
    import ssl

    if not endpoint.ca_bundle:
        return ssl.get_default_verify_paths().cafile or ""
    try:
        with open(endpoint.ca_bundle, encoding="utf-8", errors="replace") as file:
            found = "-----BEGIN CERTIFICATE-----" in file.read()
    except OSError as error:
        raise Refused(f"ca_bundle: {endpoint.ca_bundle!r}: {error.strerror}.") from None
    if not found:
        raise Refused(
            f"ca_bundle: {endpoint.ca_bundle!r} holds no certificate.",
            hint="It is a text file with lines such as -----BEGIN CERTIFICATE-----",
        )
    return endpoint.ca_bundle


class Wire:
    """Connections to one bucket. Safe for threads; not to be used after a fork."""

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
    ) -> Answer:
        """Return the answer to one request, tried once.

        Raises:
            Fault: anything but success.
        """
        answer = self._send(method, key, query, headers, body)
        is_object = method == "GET" and not query and answer.status < 300
        content = _content(answer, None if is_object else LONGEST_ANSWER)
        # Long work is answered before it is done, and such an answer may still say it failed.
        late = method in ("PUT", "POST") and b"<Error>" in content[:400]
        status = 500 if late and answer.status == 200 else answer.status
        if status >= 300:
            raise fault(status, content.decode("utf-8", "replace"))
        found = {name.lower(): value for name, value in answer.headers.items()}
        return Answer(answer.status, found, content)

    def stream(self, key: str, start: int, end: int, etag: str) -> Iterator[memoryview]:
        """Yield the bytes of a range of the object that has this etag; each good until the next.

        They go from the socket into one buffer: of all ways the one that costs least, by far.

        Raises:
            Fault: anything but success; 412 where the object is another one.
        """
        headers = {"range": f"bytes={start}-{end - 1}", "if-match": f'"{etag}"'}
        answer = self._send("GET", key, None, headers, b"")
        if answer.status >= 300:
            raise fault(answer.status, _text(answer))
        left = end - start
        try:
            if etag_in(answer.headers) != etag:
                raise Fault(412, "")  # not every service knows the condition
            before = start if answer.status == 200 else 0  # all of it, whatever was asked for
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
        """Return an answer whose body is still to come."""
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
            raise Passing(0, _reason(error)) from None

    def close(self) -> None:
        self._pool.close()


def _connections(
    endpoint: Endpoint, url: str, timeouts: Timeouts
) -> tuple["HTTPConnectionPool", str]:
    """Return the connections to a service, and what a path begins with on them."""
    # On use: time of CPU that nobody pays whose files lie on this machine.
    import urllib3

    options = {
        "timeout": urllib3.Timeout(connect=timeouts.connect, read=timeouts.silence),
        "maxsize": _CONNECTIONS,
        "cert_reqs": "CERT_REQUIRED",
        "ca_certs": trusted(endpoint) or None,
    }
    proxy = proxy_of(url)
    if not proxy:
        return urllib3.PoolManager(**options).connection_from_url(url), ""  # type: ignore[arg-type]
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    keys = urllib3.util.make_headers(proxy_basic_auth=urllib3.util.parse_url(proxy).auth)
    manager = urllib3.ProxyManager(proxy, proxy_headers=keys, **options)  # type: ignore[arg-type]
    pool = manager.connection_from_url(url)
    # A proxy is told the whole address; through TLS it carries bytes that it cannot read.
    scheme, host = urlsplit(url)[:2]
    return pool, f"{scheme}://{host}" if scheme == "http" else ""


def _content(answer: "BaseHTTPResponse", most: int | None) -> bytes:
    """Return the whole body. Raises Passing where it does not come to its end, Fault where it
    has none that anybody could wait for."""
    from urllib3.exceptions import HTTPError

    try:
        content = answer.read() if most is None else answer.read(most + 1)
    except HTTPError as error:
        raise Passing(0, _reason(error)) from None
    except (MemoryError, OverflowError):  # room is made by what a service says
        answer.close()
        raise Fault(answer.status, "an answer larger than the memory") from None
    finally:
        answer.release_conn()
    if most is not None and len(content) > most:
        answer.close()
        raise Fault(answer.status, f"an answer of more than {most:,} bytes")
    if most is not None and answer.length_remaining:  # urllib3 looks at it for whole bodies only
        raise Passing(0, "cut off")
    return content


def _text(answer: "BaseHTTPResponse") -> str:
    """Return the body of a refusal that is still to come; empty where it does not."""
    try:
        return _content(answer, LONGEST_ANSWER).decode("utf-8", "replace")
    except Fault:
        return ""


def _pieces(answer: "BaseHTTPResponse", left: int) -> Iterator[memoryview]:
    """Yield so many bytes of a body, from one buffer."""
    from http.client import HTTPException

    buffer = memoryview(bytearray(min(PIECE, left)))
    while left:
        try:
            # urllib3 2 has no way of its own to read into a buffer without a copy.
            count = answer._fp.readinto(buffer[:left])  # type: ignore[attr-defined]
        except (OSError, HTTPException) as error:
            silent = isinstance(error, TimeoutError)
            raise Passing(0, "silence" if silent else "cut off") from None
        if not count:
            raise Passing(0, "cut off")
        yield buffer[:count]
        left -= count


def _tls_fault(error: object) -> Fault:
    """Return what kept a connection from being made, which only sometimes stays so."""
    import ssl

    if isinstance(error, ssl.SSLCertVerificationError):
        return Fault(0, UNTRUSTED)
    cut_off = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)
    if isinstance(error, ssl.SSLError) and not isinstance(error, cut_off):
        return Fault(0, f"{NO_TLS}{error.reason}")
    return Passing(0, "cut off")


def _reason(error: Exception) -> str:
    """Return what happened to a connection, in a word and without the request."""
    from urllib3 import exceptions

    if isinstance(error, exceptions.ReadTimeoutError):
        return "silence"
    if isinstance(error, exceptions.NewConnectionError | exceptions.ProxyError):
        return "no connection"
    late = isinstance(error, exceptions.ConnectTimeoutError)
    return "no connection in time" if late else "cut off"


def proxy_of(url: str) -> str:
    """Return the proxy that the environment names for an address; empty: none."""
    if not any(name.lower().endswith("_proxy") for name in os.environ):
        return ""
    from urllib.request import getproxies, proxy_bypass

    parts = urlsplit(url)
    return "" if proxy_bypass(parts.hostname or "") else getproxies().get(parts.scheme, "")
