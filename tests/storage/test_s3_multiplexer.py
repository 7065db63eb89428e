"""Many small objects at once by one thread: all come, whatever the service does to some."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from contracts.s3_server import Fault, Reply, Request, SmallS3, Stored, endpoint, error, serve
from danlu.settings import Endpoint
from danlu.storage.api import Changed
from danlu.storage.locate import Location
from danlu.storage.s3.answers import NoPermission
from danlu.storage.s3.http import Timeouts
from danlu.storage.s3.storage import S3Storage
from danlu.storage.transfer import fetch, plan, pull, push
from small_s3 import Clock, broken, busy, first, reset, silence
from tls import trust

FILES = {f"tree/{number:02}//file {number} + ä": bytes([number]) * 5000 for number in range(1, 41)}
PATHS = {key.removeprefix("tree/").replace("//", "/"): data for key, data in FILES.items()}


def at(storage: S3Storage) -> Location:
    return Location(storage, "tree", "s3://bucket/tree/")


@pytest.fixture
def filled(service: SmallS3, storage: S3Storage) -> S3Storage:
    for key, data in FILES.items():
        storage.write(key, data)
    service.requests.clear()
    return storage


def gets(service: SmallS3) -> list[str]:
    return [one.key for one in service.requests if one.method == "GET" and one.key]


def content(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def shortened(_: Request) -> Reply:
    return Reply(200, b"x" * 5000, {"etag": '"other"'}, cut=100)


def another(_: Request) -> Reply:
    return Reply(200, b"x" * 5000, {"etag": '"other"'})


def in_chunks(request: Request) -> Reply:
    """A body without a declared length; nothing follows that would be one."""
    return Reply(200, b"0\r\n\r\n", {"transfer-encoding": "chunked"})


def test_every_object_is_asked_for_once(
    service: SmallS3, filled: S3Storage, tmp_path: Path
) -> None:
    pull(at(filled), tmp_path / "out")

    assert content(tmp_path / "out") == PATHS
    assert sorted(gets(service)) == sorted(FILES)
    assert not any("range" in one.headers for one in service.requests)


def test_one_thread_has_many_requests_under_way(service: SmallS3, filled: S3Storage) -> None:
    entries = [(entry.key, entry) for entry in filled.list("tree/")]
    together = threading.Barrier(4)  # no request is answered before four have arrived
    service.faults = [first(4, lambda _: (together.wait(30), None)[1])]

    found = {key: bytes(data or b"") for key, _, data in filled.read_many(iter(entries), 4)}

    assert found == FILES
    assert not together.broken


def test_one_thread_stores_many_at_once(service: SmallS3, storage: S3Storage) -> None:
    together = threading.Barrier(4)
    service.faults = [first(4, lambda _: (together.wait(30), None)[1])]
    given = ((key, key, data) for key, data in FILES.items())

    stored = {key: entry for key, entry in storage.write_many(given, 4)}

    assert not together.broken
    assert {entry.etag for entry in stored.values() if entry} == {
        one.etag for one in service.buckets["bucket"].values()
    }
    assert {key: one.data for key, one in service.buckets["bucket"].items()} == FILES


@pytest.mark.parametrize("happens", [reset, busy, broken, shortened, another, in_chunks])
@pytest.mark.parametrize("often", [1, 30])
def test_unsupported_responses_use_the_ordinary_way(
    service: SmallS3, filled: S3Storage, tmp_path: Path, happens: Fault, often: int
) -> None:
    layout = plan(at(filled))
    service.faults = [first(often, happens, lambda one: "range" not in one.headers)]

    fetch(filled, layout, tmp_path / "out")

    assert content(tmp_path / "out") == PATHS


def test_a_silent_connection_is_left(
    service: SmallS3, filled: S3Storage, url: str, clock: Clock, tmp_path: Path
) -> None:
    layout = plan(at(filled))
    service.faults = [first(1, silence)]
    impatient = Timeouts(connect=30, silence=0.5)
    storage = S3Storage(endpoint(url), "bucket", retry=clock.retry, timeouts=impatient)

    fetch(storage, layout, tmp_path / "out")

    assert content(tmp_path / "out") == PATHS


def test_a_refusal_is_reported_in_its_own_sentence(
    service: SmallS3, filled: S3Storage, tmp_path: Path
) -> None:
    layout = plan(at(filled))
    service.faults = [lambda request: error(403, "AccessDenied")]

    with pytest.raises(NoPermission, match="no permission"):
        fetch(filled, layout, tmp_path / "out")


def test_replaced_object_is_not_taken_as_listed(
    service: SmallS3, filled: S3Storage, tmp_path: Path
) -> None:
    layout = plan(at(filled))
    key = next(iter(FILES))
    service.buckets["bucket"][key] = Stored(b"y" * 5000, "0" * 32, {})

    with pytest.raises(Changed):
        fetch(filled, layout, tmp_path / "out")
    assert b"y" * 5000 not in content(tmp_path / "out").values()


def test_object_with_wrong_checksum_is_rejected(
    service: SmallS3, filled: S3Storage, tmp_path: Path
) -> None:
    layout = plan(at(filled))
    key, data = next(iter(FILES.items()))
    etag = service.buckets["bucket"][key].etag
    service.buckets["bucket"][key] = Stored(b"y" * len(data), etag, {})

    # The service itself reports that this is the object, which is accepted, as for any other.
    fetch(filled, layout, tmp_path / "out")
    assert [request.method for request in service.requests].count("HEAD") == 1


def test_what_earlier_fetch_brought_is_not_requested_again(
    service: SmallS3, filled: S3Storage, tmp_path: Path
) -> None:
    layout = plan(at(filled))
    fetch(filled, layout, tmp_path / "out", resume=True)
    (tmp_path / "out" / next(iter(PATHS))).unlink()
    service.requests.clear()

    manifest = fetch(filled, layout, tmp_path / "out", resume=True)

    assert gets(service) == [next(iter(FILES))]
    assert content(tmp_path / "out") == PATHS
    assert set(manifest.files) == set(PATHS)


@pytest.mark.parametrize("happens", [None, reset, busy, broken])
@pytest.mark.parametrize("often", [1, 30])
def test_outputs_all_arrive(
    service: SmallS3, storage: S3Storage, tmp_path: Path, happens: Fault | None, often: int
) -> None:
    for path, data in PATHS.items():
        (tmp_path / "in" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / path).write_bytes(data)
    puts = first(often, happens, lambda one: one.method == "PUT") if happens else None
    service.faults = [puts] if puts else []
    reported: list[tuple[int, int]] = []

    push(tmp_path / "in", at(storage), progress=lambda *now: reported.append(now), final=True)

    kept = service.buckets["bucket"]
    assert {key.removeprefix("tree/"): kept[key].data for key in kept} == PATHS
    assert reported[-1] == (sum(map(len, PATHS.values())),) * 2
    if happens is None:
        assert [one.method for one in service.requests if one.key] == ["PUT"] * len(PATHS)


@pytest.fixture
def secure(service: SmallS3, tmp_path: Path) -> Iterator[Endpoint]:
    signed = trust(tmp_path)
    with serve(service, signed.server) as url:
        yield replace(endpoint(url), ca_bundle=str(signed.authority))


def test_over_tls_as_well(service: SmallS3, secure: Endpoint, tmp_path: Path) -> None:
    storage = S3Storage(secure, "bucket")
    for key, data in FILES.items():
        storage.write(key, data)
    service.requests.clear()

    pull(at(storage), tmp_path / "out")

    assert content(tmp_path / "out") == PATHS
    assert sorted(gets(service)) == sorted(FILES)


def test_through_a_proxy_the_ordinary_way_is_taken(
    service: SmallS3, filled: S3Storage, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", url)
    far = S3Storage(replace(endpoint("http://store.example"), addressing="virtual"), "bucket")
    entries = list(filled.list("tree/"))

    found = list(far.read_many(((entry.key, entry) for entry in entries), 4))

    assert [data for _, _, data in found] == [None] * len(FILES)
    assert gets(service) == []
