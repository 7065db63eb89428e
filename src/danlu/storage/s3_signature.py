"""Signs requests by the published rules of AWS Signature Version 4, for S3.

By hand, and not with botocore: its import alone costs more time than to list a thousand objects.
"""

import hashlib
import hmac
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import quote

from danlu.settings import Endpoint

REGION = "us-east-1"  # where none is set: what services that know no regions expect
_METHOD = "AWS4-HMAC-SHA256"


@dataclass(frozen=True)
class Signer:
    """One key, for one region."""

    endpoint: Endpoint
    clock: Callable[[], float] = field(default=time.time, compare=False)

    def sign(
        self, method: str, host: str, path: str, query: str, headers: Mapping[str, str], body: bytes
    ) -> dict[str, str]:
        """Return the headers to send; ``path`` and ``query`` are encoded, as they will be sent.

        Every header that is given is signed, and the body.
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
        who = f"Credential={self.endpoint.access_key}/{scope}"
        signed["authorization"] = f"{_METHOD} {who}, SignedHeaders={names}, Signature={signature}"
        return signed

    @property
    def _region(self) -> str:
        return self.endpoint.region or REGION


def encoded(query: Mapping[str, str]) -> str:
    """Return a query as it is signed and sent: in order, everything odd with ``%``."""
    pairs = sorted((quote(name, safe="~"), quote(value, safe="~")) for name, value in query.items())
    return "&".join(f"{name}={value}" for name, value in pairs)


@lru_cache(maxsize=16)
def _key(secret: str, day: str, region: str) -> bytes:
    key = f"AWS4{secret}".encode()
    for part in (day, region, "s3", "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    return key
