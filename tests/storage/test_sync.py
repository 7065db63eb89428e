"""Trees to and from a service that speaks S3: few requests, many at once, nothing twice."""

import io
import os
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from contracts.s3_server import Reply, Request, SmallS3, endpoint, error, serve
from danlu.errors import StorageError
from danlu.storage.cache import ContentCache
from danlu.storage.locate import Location, Stores
from danlu.storage.s3.storage import S3Storage
from danlu.storage.transfer import pull, push
from seaweed import Seaweed

LARGE = 9 << 20


@pytest.fixture
def stores(service: SmallS3, tmp_path: Path) -> Iterator[Stores]:
    with serve(service) as url:
        yield Stores(tmp_path / "embedded", {"obs": endpoint(url)})


@pytest.fixture
def place(stores: Stores, service: SmallS3) -> Location:
    found = stores.at("s3://bucket/data")
    for number in range(1, 13):
        found.storage.write(f"data/{number % 2}/{number}", b"x" * number)
    service.requests.clear()
    return found


def asked(service: SmallS3) -> Counter[str]:
    kinds = Counter(r.method if r.key else "list" for r in service.requests)
    service.requests.clear()
    return kinds


def old(folder: Path) -> Path:
    """Let files look as if they had been written some time ago."""
    for path in folder.rglob("*"):
        os.utime(path, (time.time() - 60,) * 2)
    return folder


def test_tree_takes_listing_and_request_per_object(
    service: SmallS3, place: Location, tmp_path: Path
) -> None:
    manifest = pull(place, tmp_path / "to")

    assert asked(service) == {"list": 1, "GET": 12}
    assert (tmp_path / "to" / "1" / "11").read_bytes() == b"x" * 11
    assert list(manifest.files) == sorted(manifest.files)


def test_same_data_is_not_fetched_for_second_job(
    service: SmallS3, place: Location, cache: ContentCache
) -> None:
    first = cache.tree(place, "one")
    asked(service)

    second = cache.tree(place, "two")

    assert (first.hit, second.hit) == (False, True)
    assert asked(service) == {"list": 1}


def test_an_empty_object_is_only_looked_at(
    service: SmallS3, place: Location, tmp_path: Path
) -> None:
    place.storage.write("data/empty", b"")
    service.requests.clear()

    pull(place, tmp_path / "to")

    assert asked(service) == {"list": 1, "GET": 12, "HEAD": 1}
    assert (tmp_path / "to" / "empty").read_bytes() == b""


def test_objects_come_several_at_once(service: SmallS3, place: Location, tmp_path: Path) -> None:
    # No request passes before eight have arrived.
    together = threading.Barrier(8)
    waiting = iter(range(8))

    def wait(request: Request) -> Reply | None:
        if request.method == "GET" and request.key and next(waiting, None) is not None:
            together.wait(20)
        return None

    service.faults.append(wait)

    assert len(pull(place, tmp_path / "to").files) == 12
    assert not together.broken


def test_what_one_transfer_meets_ends_all(
    service: SmallS3, place: Location, tmp_path: Path
) -> None:
    service.faults.append(
        lambda request: error(403, "AccessDenied") if request.key == "data/1/7" else None
    )

    with pytest.raises(StorageError, match="data/1/7"):
        pull(place, tmp_path / "to")

    assert not (tmp_path / "to" / "1" / "7").exists()


def test_what_progress_raises_ends_all(place: Location, tmp_path: Path) -> None:
    class Stop(Exception):
        pass

    def progress(done: int, total: int) -> None:
        if done > 20:
            raise Stop

    with pytest.raises(Stop):
        pull(place, tmp_path / "to", progress)


def test_object_with_wrong_checksum_is_read_again(
    service: SmallS3, place: Location, tmp_path: Path
) -> None:
    """As with keys of the service's own: then the etag is no MD5 sum."""
    stored = service.buckets["bucket"]["data/1/5"]
    object.__setattr__(stored, "etag", "0" * 32)

    pull(place, tmp_path / "to")

    assert asked(service) == {"list": 1, "GET": 12, "HEAD": 1}


def test_push_takes_one_request_per_file(service: SmallS3, stores: Stores, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    for name in ("a", "deep/b", "deep/c"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(name.encode())
    old(folder)

    manifest = push(folder, stores.at("obs://bucket/out"), final=True)
    first = asked(service)
    again = push(folder, stores.at("obs://bucket/out"), final=True)

    assert first == {"list": 1, "PUT": 3}
    assert asked(service) == {"list": 1}
    assert again == manifest
    assert service.buckets["bucket"]["out/deep/b"].data == b"deep/b"


def test_changed_file_is_pushed_though_nothing_is_known(
    service: SmallS3, stores: Stores, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "large").write_bytes(bytes(LARGE))
    (folder / "small").write_bytes(b"1")
    push(old(folder), stores.at("obs://bucket/out"))
    (folder / "small").write_bytes(b"2")
    asked(service)

    push(old(folder), stores.at("obs://bucket/out"), final=True)

    assert asked(service) == {"list": 1, "PUT": 1}
    assert service.buckets["bucket"]["out/small"].data == b"2"


def test_a_checkpoint_is_published_after_its_data(
    service: SmallS3, stores: Stores, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    names = [f"model.ckpt-{n}.{kind}" for n in range(4) for kind in ("data-0", "index", "meta")]
    for name in (*names, "checkpoint"):
        (folder / name).write_bytes(name.encode())

    push(old(folder), stores.at("obs://bucket/out"))

    written = [r.key.rpartition("/")[2] for r in service.requests if r.method == "PUT"]
    assert {name for name in written[:4]} == {name for name in names if "data" in name}
    assert written[-1] == "checkpoint"


def test_real_service_takes_tree_and_gives_it_back(
    seaweed: Seaweed, cache: ContentCache, tmp_path: Path
) -> None:
    cache.limit = 1 << 30
    seaweed.bucket("trees")
    place = Stores(tmp_path / "embedded", {"ks3": seaweed.endpoint}).at("ks3://trees/run 1/输出")
    folder = tmp_path / "out"
    (folder / "a b").mkdir(parents=True)
    (folder / "empty").mkdir()
    (folder / "a b" / "数据+%").write_bytes(b"small")
    (folder / "large").write_bytes(os.urandom(LARGE))

    push(old(folder), place, final=True)
    tree = cache.tree(place, "job")

    assert (tree.path / "a b" / "数据+%").read_bytes() == b"small"
    assert (tree.path / "large").read_bytes() == (folder / "large").read_bytes()
    assert (tree.path / "empty").is_dir()
    assert cache.tree(place, "next").hit


def test_a_real_service_is_sent_nothing_twice(
    seaweed: Seaweed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = seaweed.bucket("twice")
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "large").write_bytes(os.urandom(LARGE))
    (folder / "small").write_bytes(b"x")
    place = Location(storage, "out", "s3://twice/out")
    push(old(folder), place, final=True)
    written: list[str] = []

    def refuse(self: S3Storage, key: str, data: bytes | io.BytesIO) -> None:
        written.append(key)

    monkeypatch.setattr(S3Storage, "write", refuse)
    push(folder, place, final=True)

    assert written == []
