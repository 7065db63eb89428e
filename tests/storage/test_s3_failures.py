"""A service that fails: what is lost (nothing), and what is never believed."""

import dataclasses
import logging
from pathlib import Path

import pytest

from contracts.s3_server import Fault, Reply, Request, SmallS3, endpoint, error
from danlu.errors import StorageError
from danlu.storage.locate import Stores
from danlu.storage.s3.answers import Unreachable
from danlu.storage.s3.http import Timeouts
from danlu.storage.s3.storage import S3Storage
from small_s3 import (
    BIG,
    DATE,
    KEYS,
    Clock,
    broken,
    busy,
    completes,
    first,
    lose,
    reset,
    silence,
)


def impatient(url: str, clock: Clock, silence: float) -> S3Storage:
    """A storage that takes so many seconds of silence for a dead connection."""
    timeouts = Timeouts(connect=30, silence=silence)
    return S3Storage(endpoint(url), "bucket", retry=clock.retry, timeouts=timeouts)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("happens", [reset, silence, busy, broken])
def test_what_passes_is_waited_for(
    service: SmallS3, url: str, clock: Clock, happens: Fault, key: str
) -> None:
    storage = impatient(url, clock, 0.5 if happens is silence else 30)
    service.faults = [first(2, happens)]
    storage.write(key, b"kept")
    service.faults = [first(2, happens)]

    assert storage.read(key) == b"kept"
    assert len(clock.waits) >= 4

    for ask in (
        lambda: storage.stat(key) is not None,
        lambda: [entry.key for entry in storage.list()] == [key],
        lambda: storage.copy(key, "b").size == 4,
        lambda: storage.create("c", b"x"),
        lambda: storage.delete(key) is None,
    ):
        service.faults = [first(1, happens)]
        assert ask()


def test_a_slow_answer_is_no_silence(service: SmallS3, url: str, clock: Clock) -> None:
    storage = impatient(url, clock, 2.0)
    data = BIG[:100_000]
    service.faults = [
        lambda r: Reply(200, data, {"etag": '"x"', "last-modified": DATE}, pause=0.25)
    ]

    assert storage.read("odd//a") == data  # longer than the silence allowed, with none of it
    assert clock.waits == []


def cut(service: SmallS3) -> Fault:
    """Half of every object, with the length of the whole."""

    def happens(request: Request) -> Reply:
        stored = service.buckets["bucket"][request.key]
        about = {"etag": f'"{stored.etag}"', "last-modified": DATE}
        return Reply(200, stored.data, about, cut=len(stored.data) // 2)

    return happens


@pytest.mark.parametrize("key", KEYS)
def test_half_object_is_never_taken_for_whole(
    service: SmallS3, storage: S3Storage, clock: Clock, key: str
) -> None:
    storage.write(key, BIG[:100_000])
    service.faults = [first(1, cut(service))]

    assert storage.read(key) == BIG[:100_000]
    assert len(clock.waits) == 1

    service.faults = [cut(service)]
    with pytest.raises(Unreachable, match="did not answer"):
        storage.read(key)


def test_half_listing_is_never_taken_for_whole(
    service: SmallS3, storage: S3Storage, clock: Clock
) -> None:
    storage.write("a", b"")
    answer = b"<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>"
    service.faults = [first(2, lambda _: Reply(200, answer, cut=len(answer) // 2))]

    assert [entry.key for entry in storage.list()] == ["a"]
    assert len(clock.waits) == 1


def test_outage_of_five_minutes_during_upload_loses_nothing(
    service: SmallS3, storage: S3Storage, clock: Clock
) -> None:
    down: list[float] = []

    def outage(request: Request) -> Reply | None:
        if request.query.get("partNumber") == "3" and not down:
            down.append(clock.now)
        return error(503, "ServiceUnavailable") if down and clock.now < down[0] + 300 else None

    service.faults = [outage]

    entry = storage.write("model", BIG)

    assert clock.now >= 300
    assert service.buckets["bucket"]["model"].data == BIG
    assert storage.stat("model") == entry
    assert service.uploads == {}


def test_an_outage_that_does_not_end_is_reported(
    service: SmallS3, storage: S3Storage, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    service.faults = [busy]

    with caplog.at_level(logging.WARNING), pytest.raises(Unreachable) as caught:
        storage.write("a", b"x")

    assert 900 <= clock.now < 1000
    assert "did not answer for 'a' in bucket 'bucket': 503 SlowDown." in caught.value.message
    assert len(caplog.records) == 1
    assert "does not answer (503 SlowDown); trying on for 89" in caplog.text


def test_wait_ends_at_its_limit(service: SmallS3, url: str, clock: Clock) -> None:
    service.faults = [busy]
    patience = dataclasses.replace(clock.retry, limit=lambda: 20 - clock.now)

    with pytest.raises(Unreachable, match="SlowDown"):
        S3Storage(endpoint(url), "bucket", retry=patience).read("a")
    assert 20 <= clock.now < 36


def test_limit_of_stores_includes_open_ones(service: SmallS3, url: str, tmp_path: Path) -> None:
    stores = Stores(tmp_path, {"s3": endpoint(url)})
    place = stores.at("s3://bucket/a")
    service.faults = [busy]
    stores.limit(lambda: 0)

    with pytest.raises(Unreachable):
        place.storage.read("a")


def test_closed_port_is_reported(url: str, clock: Clock) -> None:
    unused = S3Storage(endpoint("http://127.0.0.1:9"), "bucket", retry=clock.retry)

    with pytest.raises(Unreachable, match=r"127\.0\.0\.1:9 did not answer"):
        unused.write("a", b"x")


def test_upload_whose_last_answer_got_lost_is_whole(
    service: SmallS3, storage: S3Storage, clock: Clock
) -> None:
    lose(service, completes)

    entry = storage.write("model", BIG)

    assert len(clock.waits) == 1
    assert storage.stat("model") == entry
    assert storage.read("model") == BIG


def test_aborted_upload_is_not_complete(service: SmallS3, storage: S3Storage) -> None:
    storage.write("model", b"x" * len(BIG))  # of the same size, and not ours

    def happens(request: Request) -> None:
        if completes(request):
            service.uploads.clear()

    service.faults = [happens]
    before = storage.stat("model")

    with pytest.raises(StorageError, match="did not keep the object 'model'"):
        storage.write("model", BIG)
    assert storage.stat("model") == before


def test_creator_is_known_after_lost_response(service: SmallS3, storage: S3Storage) -> None:
    lose(service, lambda request: request.method == "PUT")

    assert storage.create("claim", b"mine")
    assert not storage.create("claim", b"mine")


@pytest.mark.parametrize("what", ["copy", "upload"])
def test_an_error_inside_a_success_is_seen(
    service: SmallS3, storage: S3Storage, clock: Clock, what: str
) -> None:
    storage.write("a", b"x")
    late = dataclasses.replace(error(200, "InternalError"), status=200)
    service.faults = [
        first(
            1,
            lambda _: late,
            lambda request: (
                "x-amz-copy-source" in request.headers
                or (request.method == "POST" and "uploadId" in request.query)
            ),
        )
    ]

    written = storage.copy("a", "b") if what == "copy" else storage.write("b", BIG)

    assert len(clock.waits) == 1
    assert storage.stat("b") == written
    assert storage.read("b") == (b"x" if what == "copy" else BIG)
