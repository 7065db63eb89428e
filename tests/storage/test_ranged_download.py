"""A large object comes in long ranges, several at once; what was fetched is not fetched again."""

import os
from pathlib import Path

import pytest

from contracts.s3_server import Reply, Request, SmallS3, error
from danlu.errors import NotFound
from danlu.storage.cache import ContentCache
from danlu.storage.locate import Location
from danlu.storage.s3.answers import Unreachable
from danlu.storage.s3.storage import S3Storage
from danlu.storage.transfer import download, pull
from small_s3 import BIG, DATE, KEYS, Clock, first

MiB = 1 << 20


@pytest.fixture(autouse=True)
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "MAX_RANGE", 8 * MiB)


def ranges(service: SmallS3) -> list[tuple[int, int]]:
    """Return the ranges that were asked for, and forget them."""
    asked = [request.headers.get("range", "") for request in service.requests]
    service.requests.clear()
    pairs = [text.removeprefix("bytes=").split("-") for text in asked if text]
    return sorted((int(start), int(end) + 1) for start, end in pairs)


@pytest.mark.parametrize("key", KEYS)
def test_all_of_it_arrives_by_ranges(
    service: SmallS3, storage: S3Storage, tmp_path: Path, key: str
) -> None:
    storage.write(key, BIG)
    service.requests.clear()
    reported: list[tuple[int, int]] = []

    marks = pull(
        Location(storage, key, "obs://bucket/a"), tmp_path / "to", lambda *at: reported.append(at)
    ).files

    assert (tmp_path / "to" / "a").read_bytes() == BIG
    assert marks["a"].etag == service.buckets["bucket"][key].etag
    assert ranges(service)[1:3] == [(8 * MiB, 16 * MiB), (16 * MiB, 24 * MiB)]
    assert reported[-1] == (len(BIG), len(BIG))


@pytest.mark.parametrize("key", KEYS)
def test_interrupted_range_continues_where_it_was(
    service: SmallS3, storage: S3Storage, clock: Clock, tmp_path: Path, key: str
) -> None:
    storage.write(key, BIG)
    service.requests.clear()
    etag = service.buckets["bucket"][key].etag

    def cut(request: Request) -> Reply:
        start = 8 * MiB
        about = {
            "etag": f'"{etag}"',
            "last-modified": DATE,
            "content-range": f"bytes {start}-{start + 8 * MiB - 1}/{len(BIG)}",
        }
        return Reply(206, BIG[start : start + 8 * MiB], about, cut=5 * MiB)

    def second(request: Request) -> bool:
        return request.headers.get("range", "").startswith(f"bytes={8 * MiB}-")

    service.faults = [first(1, cut, second)]
    pull(Location(storage, key, "obs://bucket/a"), tmp_path / "to")

    assert (tmp_path / "to" / "a").read_bytes() == BIG
    again = [found for found in ranges(service) if found[1] == 16 * MiB]
    assert len(again) == 2
    assert again[1][0] >= 12 * MiB  # what came before the cut counts
    assert clock.waits == []


@pytest.mark.parametrize("key", KEYS)
def test_a_service_that_knows_no_ranges_will_do(
    service: SmallS3, storage: S3Storage, tmp_path: Path, key: str
) -> None:
    storage.write(key, BIG)
    about = {"etag": f'"{service.buckets["bucket"][key].etag}"', "last-modified": DATE}
    service.faults = [
        lambda request: Reply(200, BIG, about) if request.headers.get("range") else None
    ]

    pull(Location(storage, key, "obs://bucket/a"), tmp_path / "to")

    assert (tmp_path / "to" / "a").read_bytes() == BIG


def test_broken_fetch_requests_only_missing_data(
    service: SmallS3, storage: S3Storage, large: ContentCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    # One range after the other: the order of concurrent ones is not defined before the fault.
    monkeypatch.setattr(download, "STREAMS", 1)
    storage.write("a", BIG)
    location = Location(storage, "a", "obs://bucket/a")
    service.faults = [
        lambda request: (
            error(503, "SlowDown")
            if request.headers.get("range", "").startswith(f"bytes={16 * MiB}-")
            else None
        )
    ]
    with pytest.raises(Unreachable):
        large.tree(location, "job")
    service.faults = []
    service.requests.clear()

    tree = large.tree(location, "job")

    assert (tree.path / "a").read_bytes() == BIG
    asked = ranges(service)
    assert asked[0] == (16 * MiB, 24 * MiB)
    assert asked[-1][1] == len(BIG)


@pytest.mark.parametrize("change", [b"", b"x"])
def test_large_file_has_known_etag_after_power_cut(
    service: SmallS3,
    storage: S3Storage,
    large: ContentCache,
    change: bytes,
) -> None:
    storage.write("a", BIG)
    location = Location(storage, "a", "obs://bucket/a")
    tree = large.tree(location, "job")
    file = tree.path / "a"
    os.chmod(file, 0o644)
    file.write_bytes(change + BIG[len(change) :])
    service.requests.clear()
    again = ContentCache(large.root, large.limit)
    again._entries._boot = "another start of this machine"

    assert (again.tree(location, "job").path / "a").read_bytes() == BIG
    assert bool(ranges(service)) == bool(change)


@pytest.mark.parametrize(
    ("size", "count"),
    [(9 * MiB, 2), (20 * MiB, 3), (100 * MiB, 8), (2**30, 16), (2**40, 2**14)],
)
def test_the_larger_an_object_the_longer_its_segments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, count: int
) -> None:
    monkeypatch.setattr(download, "MAX_RANGE", 64 * MiB)
    with open(tmp_path / "file", "wb+") as file:
        found = download.RangeProgress(file.fileno(), size).begin()

    assert len(found) == count
    assert [one.start for one in found[1:]] == [one.end for one in found[:-1]]
    assert found[-1].end == size


def test_a_file_notes_how_far_its_segments_are(tmp_path: Path) -> None:
    size = 20 * MiB
    with open(tmp_path / "file", "wb+") as file:
        noted = download.RangeProgress(file.fileno(), size)
        assert [(one.at, one.end) for one in noted.begin()] == [
            (0, 8 * MiB),
            (8 * MiB, 16 * MiB),
            (16 * MiB, size),
        ]
        noted.note(0, 5)
        noted.note(2, size)

        again = download.RangeProgress(file.fileno(), size).begin()
        assert [one.at for one in again] == [5, 8 * MiB, size]
        noted.end()
        assert [one.at for one in noted.begin()] == [8 * MiB, 16 * MiB, size]


@pytest.mark.parametrize("beyond", [0, 3, 10**6])
def test_mismatched_progress_file_restarts_the_download(tmp_path: Path, beyond: int) -> None:
    with open(tmp_path / "file", "wb+") as file:
        file.truncate(20 * MiB + beyond)
        found = download.RangeProgress(file.fileno(), 20 * MiB - 1).begin()

    assert [one.at - one.start for one in found] == [0, 0, 0]


@pytest.mark.parametrize("key", KEYS)
def test_object_replaced_meanwhile_is_fetched_again(
    service: SmallS3, storage: S3Storage, tmp_path: Path, key: str
) -> None:
    storage.write(key, BIG)
    new = BIG[::-1]
    replaced: list[bool] = []

    def replace(request: Request) -> None:
        if request.headers.get("range") and not replaced:
            replaced.append(True)
            storage.write(key, new)

    service.after = [replace]
    pull(Location(storage, key, "obs://bucket/a"), tmp_path / "to")

    assert (tmp_path / "to" / "a").read_bytes() == new


def test_an_object_removed_meanwhile_leaves_nothing(
    service: SmallS3, storage: S3Storage, tmp_path: Path
) -> None:
    storage.write("a", BIG)

    def remove(request: Request) -> None:
        if request.headers.get("range"):
            service.buckets["bucket"].pop("a", None)

    service.after = [remove]
    with pytest.raises(NotFound):
        pull(Location(storage, "a", "obs://bucket/a"), tmp_path / "to")

    assert list((tmp_path / "to").iterdir()) == []
