"""The XML a service that speaks S3 answers with. Nothing in it is believed unseen."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import unquote_plus
from xml.etree import ElementTree

from danlu.errors import StorageError
from danlu.storage.api import Entry

_MOST_BYTES = 1 << 60  # of one object: more than any disk holds


@dataclass(frozen=True)
class Page:
    """A part of a listing; ``next`` is empty at its end."""

    entries: tuple[Entry, ...]
    next: str


@dataclass(frozen=True)
class Upload:
    """A multipart upload that has not ended; ``begun`` in seconds since 1970, endless if untold."""

    key: str
    id: str
    begun: float


def page(body: bytes, prefix: str) -> Page:
    """Return the objects of a ListObjectsV2 answer, and the folders it was asked for, by key."""
    root = _root(body)
    encoded = _text(root, "EncodingType") == "url"
    entries = [_entry(node, encoded) for node in _nodes(root, "Contents")]
    for node in _nodes(root, "CommonPrefixes"):
        entries.append(Entry(_key(_text(node, "Prefix"), encoded), 0, ""))
    for entry in entries:
        if not entry.key.startswith(prefix):
            raise StorageError(
                f"The listing of {prefix!r} names {entry.key!r}, which does not lie there.",
                hint="The service is broken, or does not mean well.",
            )
    following = _text(root, "NextContinuationToken")
    if _text(root, "IsTruncated") == "true" and not following:
        raise StorageError(f"The listing of {prefix!r} goes on, and does not say where.")
    return Page(tuple(sorted(entries, key=lambda entry: entry.key)), following)


def uploads(body: bytes) -> tuple[list[Upload], str, str]:
    """Return unfinished uploads, and key and id to go on after; empty at the end."""
    root = _root(body)
    encoded = _text(root, "EncodingType") == "url"
    found = [
        Upload(
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
    """Return the names of the buckets that a key may see."""
    found = _root(body).find("Buckets")
    nodes = [] if found is None else found.iterfind("Bucket")
    return sorted(_text(node, "Name") for node in nodes)


def parts(body: bytes) -> tuple[dict[int, tuple[str, int]], str]:
    """Return etag and size of the parts of an upload by number, and the number to go on after."""
    root = _root(body)
    found: dict[int, tuple[str, int]] = {}
    for node in _nodes(root, "Part"):
        number, size = _text(node, "PartNumber"), _text(node, "Size")
        if not number.isdigit() or not size.isdigit():
            raise StorageError("The list of parts has one without a number or a size.")
        found[int(number)] = (_text(node, "ETag").strip('"'), int(size))
    more = _text(root, "IsTruncated") == "true"
    return found, _text(root, "NextPartNumberMarker") if more else ""


def upload_id(body: bytes) -> str:
    return _text(_root(body), "UploadId")


def etag(body: bytes) -> str:
    """Return the etag of what was copied or put together."""
    return _text(_root(body), "ETag").strip('"')


def completion(etags: list[str]) -> bytes:
    """Return the order to put an object together of parts 1, 2, 3 …"""
    parts = "".join(
        f'<Part><PartNumber>{number}</PartNumber><ETag>"{tag}"</ETag></Part>'
        for number, tag in enumerate(etags, start=1)
    )
    return f"<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>".encode()


def _entry(node: ElementTree.Element, encoded: bool) -> Entry:
    try:
        size = int(_text(node, "Size"))
    except ValueError:
        raise StorageError("The listing has an object without a size.") from None
    if not 0 <= size < _MOST_BYTES:
        raise StorageError(f"The listing has an object of {size} bytes.")
    modified = int(_time(_text(node, "LastModified"), 0.0)) * 10**9
    key = _key(_text(node, "Key"), encoded)
    return Entry(key, size, _text(node, "ETag").strip('"'), modified)


def _key(text: str, encoded: bool) -> str:
    return unquote_plus(text) if encoded else text


def http_time(text: str) -> int:
    """Return nanoseconds since 1970 of a date in a header; 0 where there is none."""
    from email.utils import parsedate_to_datetime

    try:
        return int(parsedate_to_datetime(text).timestamp()) * 10**9
    except (TypeError, ValueError):
        return 0


def _time(text: str, untold: float) -> float:
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return untold


def _root(body: bytes) -> ElementTree.Element:
    # No answer has a document type; entities that grow are all it could be for. A NUL is of
    # another encoding, in which it would not be seen.
    if b"<!DOCTYPE" in body or b"\0" in body:
        raise StorageError("The service answered with a document type, which no S3 answer has.")
    try:
        root = ElementTree.fromstring(body)
    except ElementTree.ParseError as error:
        raise StorageError(
            f"The service answered with something that is not XML: {error}."
        ) from None
    for node in root.iter():
        node.tag = node.tag.rpartition("}")[2]  # services differ in the namespace
    return root


def _nodes(root: ElementTree.Element, name: str) -> Iterator[ElementTree.Element]:
    return root.iterfind(name)


def _text(root: ElementTree.Element, name: str) -> str:
    return root.findtext(name) or ""
