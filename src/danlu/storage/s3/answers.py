"""Parsing of S3 responses and errors. The content of responses is validated."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import unquote_plus
from xml.etree import ElementTree

from danlu.errors import StorageError
from danlu.messages import get_message
from danlu.storage.api import Entry

_MAX_BYTES = 1 << 60  # max size of an object; larger than any disk


@dataclass(frozen=True)
class Page:
    """One page of a listing. ``next`` is the continuation token, empty on the last page."""

    entries: tuple[Entry, ...]
    next: str


@dataclass(frozen=True)
class MultipartUpload:
    """An unfinished multipart upload. ``begun``: seconds since 1970, infinity if unknown."""

    key: str
    id: str
    begun: float


def page(body: bytes, prefix: str) -> Page:
    """Return the objects and common prefixes of a ListObjectsV2 response, sorted by key."""
    root = _root(body)
    encoded = _text(root, "EncodingType") == "url"
    entries = [_entry(node, encoded) for node in _nodes(root, "Contents")]
    for node in _nodes(root, "CommonPrefixes"):
        entries.append(Entry(_key(_text(node, "Prefix"), encoded), 0, ""))
    for entry in entries:
        if not entry.key.startswith(prefix):
            raise StorageError.from_key("s3.listing_outside", prefix=prefix, key=entry.key)
    following = _text(root, "NextContinuationToken")
    if _text(root, "IsTruncated") == "true" and not following:
        raise StorageError.from_key("s3.listing_no_marker", prefix=prefix)
    return Page(tuple(sorted(entries, key=lambda entry: entry.key)), following)


def uploads(body: bytes) -> tuple[list[MultipartUpload], str, str]:
    """Return the unfinished uploads, and the key and id markers of the next page.

    The markers are empty on the last page.
    """
    root = _root(body)
    encoded = _text(root, "EncodingType") == "url"
    found = [
        MultipartUpload(
            _key(_text(node, "Key"), encoded),
            _text(node, "UploadId"),
            _time(_text(node, "Initiated"), math.inf),
        )
        for node in _nodes(root, "Upload")
    ]
    if _text(root, "IsTruncated") != "true":
        return found, "", ""
    return found, _key(_text(root, "NextKeyMarker"), encoded), _text(root, "NextUploadIdMarker")


def buckets(body: bytes) -> list[str]:
    """Return the names of the buckets in a ListBuckets response, sorted."""
    found = _root(body).find("Buckets")
    nodes = [] if found is None else found.iterfind("Bucket")
    return sorted(_text(node, "Name") for node in nodes)


def parts(body: bytes) -> tuple[dict[int, tuple[str, int]], str]:
    """Return the etag and size of the parts of an upload by number, and the next part marker."""
    root = _root(body)
    found: dict[int, tuple[str, int]] = {}
    for node in _nodes(root, "Part"):
        number, size = _text(node, "PartNumber"), _text(node, "Size")
        if not number.isdigit() or not size.isdigit():
            raise StorageError.from_key("s3.parts_incomplete")
        found[int(number)] = (_text(node, "ETag").strip('"'), int(size))
    more = _text(root, "IsTruncated") == "true"
    return found, _text(root, "NextPartNumberMarker") if more else ""


def upload_id(body: bytes) -> str:
    return _text(_root(body), "UploadId")


def etag(body: bytes) -> str:
    """Return the etag in the response to a copy or a completed upload."""
    return _text(_root(body), "ETag").strip('"')


def completion(etags: list[str]) -> bytes:
    """Return the request body that completes an upload of parts 1, 2, 3 …"""
    parts = "".join(
        f'<Part><PartNumber>{number}</PartNumber><ETag>"{tag}"</ETag></Part>'
        for number, tag in enumerate(etags, start=1)
    )
    return f"<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>".encode()


def _entry(node: ElementTree.Element, encoded: bool) -> Entry:
    try:
        size = int(_text(node, "Size"))
    except ValueError:
        raise StorageError.from_key("s3.listing_no_size") from None
    if not 0 <= size < _MAX_BYTES:
        raise StorageError.from_key("s3.listing_size", size=size)
    modified = int(_time(_text(node, "LastModified"), 0.0)) * 10**9
    key = _key(_text(node, "Key"), encoded)
    return Entry(key, size, _text(node, "ETag").strip('"'), modified)


def _key(text: str, encoded: bool) -> str:
    return unquote_plus(text) if encoded else text


def http_time(text: str) -> int:
    """Return a date of an HTTP header in nanoseconds since 1970, or 0 if there is none."""
    from email.utils import parsedate_to_datetime

    try:
        return int(parsedate_to_datetime(text).timestamp()) * 10**9
    except (TypeError, ValueError):
        return 0


def _time(text: str, default: float) -> float:
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return default


def _root(body: bytes) -> ElementTree.Element:
    # No S3 response has a DOCTYPE. Its only use would be an entity expansion attack. A NUL is a
    # sign of another encoding, in which this check would not find a DOCTYPE.
    if b"<!DOCTYPE" in body or b"\0" in body:
        raise StorageError.from_key("s3.document_type")
    try:
        root = ElementTree.fromstring(body)
    except ElementTree.ParseError as error:
        raise StorageError.from_key("s3.not_xml", error=error) from None
    for node in root.iter():
        node.tag = node.tag.rpartition("}")[2]  # the namespace depends on the service
    return root


def _nodes(root: ElementTree.Element, name: str) -> Iterator[ElementTree.Element]:
    return root.iterfind(name)


def _text(root: ElementTree.Element, name: str) -> str:
    return root.findtext(name) or ""


_CODE = re.compile(r"<Code>\s*([A-Za-z0-9.]{1,64})\s*</Code>")
_WRONG_KEY = ("SignatureDoesNotMatch", "InvalidAccessKeyId", "InvalidToken", "ExpiredToken")
_AGAIN = ("RequestTimeout", "SlowDown", "InternalError", "ServiceUnavailable", "OperationAborted")

UNTRUSTED, NO_TLS = "Untrusted", "NoTls "  # Danlu's own codes, without a response


class Untrusted(StorageError):
    """The certificate of the service is not signed by a trusted CA."""


class WrongKey(StorageError):
    """The access key is unknown to the service, or the secret key is wrong."""


class NoPermission(StorageError):
    """The access key is valid but lacks the permission."""


class NoBucket(StorageError):
    """The bucket does not exist."""


class Unreachable(StorageError):
    """The service did not answer within the time limit; ``why``: the last error."""

    why = ""


class S3Error(Exception):
    """A failed request: HTTP status and the error code of the body, which may be empty."""

    def __init__(self, status: int, code: str) -> None:
        super().__init__(f"{status or ''} {code}".strip())
        self.status = status
        self.code = code


class TransientS3Error(S3Error):
    """An error that may be temporary. ``status`` is 0 if there was no response."""


def fault(status: int, body: str) -> S3Error:
    """Return the error for a response by its status and body."""
    match = _CODE.search(body)
    code = match[1] if match else ""
    passing = status >= 500 and status != 501
    passing = passing or status in (408, 429) or code in _AGAIN
    return TransientS3Error(status, code) if passing else S3Error(status, code)


# Codes for answers that could not be read, and the messages that describe them.
CUT_OFF, SILENCE, NO_CONNECTION, LATE = "cut off", "silence", "no connection", "late"
TOO_LARGE = "answer too large"
_OWN_CODES = {
    CUT_OFF: "s3.cut_off",
    SILENCE: "s3.silence",
    NO_CONNECTION: "s3.no_connection",
    LATE: "s3.late",
    TOO_LARGE: "s3.too_large",
}


def to_storage_error(found: S3Error, host: str, bucket: str, key: str) -> StorageError:
    """Return the StorageError for an S3Error."""
    kind = "object" if key else "bucket" if bucket else "buckets"
    what = get_message(f"s3.the_{kind}", key=key, bucket=bucket)
    why = get_message(_OWN_CODES[found.code]) if found.code in _OWN_CODES else str(found)
    if isinstance(found, TransientS3Error):
        unreachable = Unreachable.from_key("s3.unreachable", host=host, what=what, why=why)
        unreachable.why = why
        return unreachable
    if found.code == UNTRUSTED:
        return Untrusted.from_key("s3.untrusted", host=host)
    if found.code.startswith(NO_TLS):
        reason = found.code.removeprefix(NO_TLS)
        return StorageError.from_key("s3.no_tls", host=host, reason=reason)
    if found.code == "RequestTimeTooSkewed":
        return StorageError.from_key("s3.clock", host=host)
    code = found.code or found.status
    if found.code in _WRONG_KEY or found.status == 401:
        return WrongKey.from_key("s3.wrong_key", host=host, code=code)
    if found.status == 403:
        return NoPermission.from_key("s3.no_permission", what=what, host=host, code=code)
    if found.code == "NoSuchBucket":
        return NoBucket.from_key("s3.no_bucket", bucket=bucket, host=host)
    if found.status in (301, 307) or found.code == "AuthorizationHeaderMalformed":
        return StorageError.from_key("s3.other_region", host=host, bucket=bucket, why=why)
    return StorageError.from_key("s3.refused", host=host, what=what, why=why)
