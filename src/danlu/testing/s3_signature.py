"""Whether a request was signed with a key we know, by the published rules of Signature 4."""

import hashlib
import hmac
import re
from collections.abc import Mapping
from urllib.parse import parse_qsl, quote, unquote, urlsplit

_AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/s3/aws4_request, ?"
    r"SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})"
)


def fault(
    method: str, target: str, headers: Mapping[str, str], body: bytes, keys: Mapping[str, str]
) -> str:
    """Return the code S3 answers a badly signed request with, or nothing.

    ``headers`` have lower names; ``keys`` are secret keys by access key.
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
