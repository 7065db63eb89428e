"""Signed requests for any key at all, a ``//`` or a ``..`` in it too.

botocore signs and sends; its client is not used: it costs as much again to make, and its own
retries cannot be told the time.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

from danlu.errors import Refused
from danlu.settings import Endpoint
from danlu.storage.s3_faults import UNTRUSTED, Fault, Passing, fault

REGION = "us-east-1"  # where none is set: what services that know no regions expect
PIECE = 1 << 20
_CONNECTIONS = 32


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
        return self.headers.get("etag", "").strip('"')


def bucket_url(endpoint: Endpoint, bucket: str) -> str:
    """Return where the keys of a bucket begin; without a bucket, the service itself."""
    if not bucket:
        return endpoint.endpoint
    if endpoint.addressing == "path":
        return f"{endpoint.endpoint}/{bucket}"
    scheme, _, host = endpoint.endpoint.partition("://")
    return f"{scheme}://{bucket}.{host}"


def quoted(key: str) -> str:
    return quote(key, safe="/~")


def trusted(endpoint: Endpoint) -> str:
    """Return the file of the authorities whose signature is good; empty: none is known.

    Without one of its own a service is trusted as this machine does, by obstore and botocore alike.

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
        # On use: 0.1 s of CPU that nobody pays whose files lie on this machine.
        from botocore.auth import S3SigV4Auth
        from botocore.credentials import Credentials
        from botocore.httpsession import URLLib3Session

        self._url = bucket_url(endpoint, bucket)
        self._signer: Any = None
        if endpoint.access_key:
            keys = Credentials(
                str(endpoint.access_key),
                str(endpoint.secret_key),
                str(endpoint.token) or None,
            )
            self._signer = S3SigV4Auth(keys, "s3", endpoint.region or REGION)
        self._session: Any = URLLib3Session(
            verify=trusted(endpoint) or True,
            proxies=_proxies(self._url),
            timeout=(timeouts.connect, timeouts.silence),
            max_pool_connections=_CONNECTIONS,
        )

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
        content: bytes = answer.content
        # botocore 1.44 takes half a body for a whole one.
        told = answer.headers.get("Content-Length", "")
        if method != "HEAD" and told.isdigit() and int(told) != len(content):
            raise Passing(0, "cut off")
        # Long work is answered before it is done, and such an answer may still say it failed.
        late = method in ("PUT", "POST") and b"<Error>" in content[:400]
        status = 500 if late and answer.status_code == 200 else answer.status_code
        if status >= 300:
            raise fault(status, content.decode("utf-8", "replace"))
        found = {name.lower(): value for name, value in answer.headers.items()}
        return Answer(answer.status_code, found, content)

    def stream(self, key: str, start: int, end: int, etag: str) -> Iterator[memoryview]:
        """Yield the bytes of a range of the object that has this etag; each good until the next.

        They go from the socket into one buffer: of all ways the one that costs least, by far.

        Raises:
            Fault: anything but success; 412 where the object is another one.
        """
        headers = {"range": f"bytes={start}-{end - 1}", "if-match": f'"{etag}"'}
        answer = self._send("GET", key, None, headers, b"", whole=False)
        if answer.status_code >= 300:
            raise fault(answer.status_code, _text(answer))
        left = end - start
        try:
            if answer.headers.get("etag", "").strip('"') != etag:
                raise Fault(412, "")  # not every service knows the condition
            before = start if answer.status_code == 200 else 0  # all of it, whatever was asked for
            for piece in _pieces(answer.raw, before + left):
                wanted = piece[min(before, len(piece)) :]
                before -= len(piece) - len(wanted)
                left -= len(wanted)
                if wanted:
                    yield wanted
        finally:
            if left:
                answer.raw.close()
            else:
                answer.raw.release_conn()

    def _send(
        self,
        method: str,
        key: str,
        query: Mapping[str, str] | None,
        headers: Mapping[str, str] | None,
        body: bytes,
        *,
        whole: bool = True,
    ) -> Any:
        """Return botocore's answer; its body is still to come unless the ``whole`` is wanted."""
        from botocore.awsrequest import AWSRequest
        from botocore.exceptions import BotoCoreError, SSLError

        request = AWSRequest(
            method, f"{self._url}/{quoted(key)}", dict(headers or {}), body, dict(query or {})
        )
        request.stream_output = not whole
        if self._signer:
            self._signer.add_auth(request)
        try:
            return self._session.send(request.prepare())
        except SSLError:
            raise Fault(0, UNTRUSTED) from None
        except BotoCoreError as error:
            raise Passing(0, _reason(error)) from None

    def close(self) -> None:
        self._session.close()


def _text(answer: Any) -> str:
    """Return the body of a refusal that is still to come; empty where it does not."""
    from urllib3.exceptions import HTTPError

    try:
        content: bytes = answer.content
    except HTTPError:
        return ""
    return content.decode("utf-8", "replace")


def _pieces(raw: Any, left: int) -> Iterator[memoryview]:
    """Yield so many bytes of a body, from one buffer."""
    from http.client import HTTPException

    buffer = memoryview(bytearray(min(PIECE, left)))
    while left:
        try:
            # urllib3 2 has no way of its own to read into a buffer without a copy.
            count = raw._fp.readinto(buffer[:left])
        except (OSError, HTTPException) as error:
            silent = isinstance(error, TimeoutError)
            raise Passing(0, "silence" if silent else "cut off") from None
        if not count:
            raise Passing(0, "cut off")
        yield buffer[:count]
        left -= count


def _reason(error: Exception) -> str:
    """Return what happened to a connection, in a word and without the request."""
    names = {"ReadTimeoutError": "silence", "ConnectTimeoutError": "no connection in time"}
    name = type(error).__name__
    return names.get(name, "no connection" if "Connect" in name or "Proxy" in name else "cut off")


def _proxies(url: str) -> dict[str, str]:
    from urllib.request import getproxies, proxy_bypass

    host = urlsplit(url).hostname or ""
    if not any(name.lower().endswith("_proxy") for name in os.environ) or proxy_bypass(host):
        return {}
    return getproxies()
