"""Listings of a service that is broken or does not mean well."""

from collections.abc import Callable
from pathlib import Path

import pytest

from contracts.s3_server import Reply, Request, SmallS3
from danlu.errors import DanluError, StorageError
from danlu.storage.locate import Location
from danlu.storage.s3 import http, multiplexer
from danlu.storage.s3.storage import S3Storage
from danlu.storage.transfer import pull


def respond_with(service: SmallS3, body: str) -> None:
    """Let every listing be this."""

    def answer(request: Request) -> Reply | None:
        return None if request.key else Reply(200, body.encode())

    service.faults = [answer]


def listing(*keys: str, more: str = "") -> str:
    rows = "".join(f"<Contents><Key>{key}</Key><Size>1</Size></Contents>" for key in keys)
    return f"<ListBucketResult>{more}{rows}</ListBucketResult>"


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (
            listing("data/a", "../../etc/passwd"),
            r"names '\.\./\.\./etc/passwd', which is not below it",
        ),
        (listing("other/a"), "names 'other/a', which is not below it"),
        (listing("data/a", more="<IsTruncated>true</IsTruncated>"), "continues without a marker"),
        (
            listing("data/a", more="<NextContinuationToken>again</NextContinuationToken>"),
            "has no end",
        ),
        ("<ListBucketResult><Contents><Key>data/a</Key></Contents></ListBucketResult>", "a size"),
        (listing("data/a").replace("<Size>1", "<Size>-1"), "an object of -1 bytes"),
        (listing("data/a").replace("<Size>1", f"<Size>{10**30}"), "an object of 10+ bytes"),
        ('<!DOCTYPE x [<!ENTITY e "eeee">]><x>&e;</x>', "a document type"),
        ("<html><p>Please log in", "not XML"),
        ("", "not XML"),
    ],
)
def test_what_cannot_be_is_reported(
    service: SmallS3, storage: S3Storage, body: str, sentence: str
) -> None:
    respond_with(service, body)

    with pytest.raises(StorageError, match=sentence):
        list(storage.list("data/"))


def test_a_document_type_is_seen_in_every_encoding(service: SmallS3, storage: S3Storage) -> None:
    body = '<?xml version="1.0" encoding="utf-16"?><!DOCTYPE x [<!ENTITY e "eeee">]><x>&e;</x>'
    service.faults = [lambda request: None if request.key else Reply(200, body.encode("utf-16"))]

    with pytest.raises(StorageError, match="a document type"):
        list(storage.list("data/"))


def test_listing_without_end_does_not_fill_memory(
    service: SmallS3, storage: S3Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(multiplexer, "MAX_BODY", 1000)
    monkeypatch.setattr(http, "MAX_ANSWER", 1000)
    respond_with(service, listing(*(f"data/{number}" for number in range(100))))

    with pytest.raises(StorageError, match="the answer is too large"):
        list(storage.list("data/"))


@pytest.mark.parametrize("escape", ["data/../../outside", "data//../../outside", "data/.."])
def test_keys_cannot_leave_their_folder(
    service: SmallS3, storage: S3Storage, tmp_path: Path, escape: str
) -> None:
    storage.write(escape, b"escaped")
    storage.write("data/good", b"x")

    with pytest.raises(DanluError):
        pull(Location(storage, "data", "obs://bucket/data"), tmp_path / "a" / "b")

    assert [path for path in tmp_path.rglob("*") if path.read_bytes() == b"escaped"] == []


def test_unencoded_keys_are_taken_as_they_are(service: SmallS3, storage: S3Storage) -> None:
    respond_with(service, listing("data/a+b%20c 数据"))

    assert [entry.key for entry in storage.list("data/")] == ["data/a+b%20c 数据"]


def test_pages_are_asked_for_until_the_end(service: SmallS3, storage: S3Storage) -> None:
    service.page = 3
    keys = [f"data/{number:02} +数据//" for number in range(10)]
    for key in keys:
        storage.write(key, b"")

    listed: list[Callable[[], object]] = [
        lambda: [entry.key for entry in storage.list("data/")],
        lambda: [key for key, _ in storage.sizes("data/")],
    ]
    assert all(ask() == keys for ask in listed)
    assert len([r for r in service.requests if r.method == "GET"]) == 8


def test_one_page_proves_that_something_exists(service: SmallS3, storage: S3Storage) -> None:
    service.page = 2
    for number in range(10):
        storage.write(f"data/{number}", b"")
    service.requests.clear()

    assert Location(storage, "data", "obs://bucket/data").exists()
    assert len(service.requests) == 1
