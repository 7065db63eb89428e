"""How a request for a key of a bucket is written: its path as it is sent, and signed headers."""

from collections.abc import Mapping
from urllib.parse import quote, urlsplit

from danlu.settings import Endpoint
from danlu.storage.s3_signature import Signer, encoded


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


class Requests:
    """Those of one bucket, with the key of its endpoint where it has one."""

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
        """Return what is asked for, path and query, and the headers to send."""
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
        """Return all of a request but its body, as the bytes that go over the wire."""
        target, headers = self.signed(method, key, query, None, body)
        headers = {**headers, "host": self.host, "accept-encoding": "identity"}
        if method == "PUT":
            headers["content-length"] = str(len(body))
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        return f"{method} {target} HTTP/1.1\r\n{lines}\r\n".encode("latin-1")
