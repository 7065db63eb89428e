"""A service that refuses: wrong key, missing permission, missing bucket."""

from collections.abc import Callable

import pytest

from contracts.s3_server import ACCESS, READER, SECRET, SmallS3, endpoint, error
from danlu.errors import NotFound, StorageError
from danlu.storage.s3.answers import NoBucket, NoPermission, WrongKey
from danlu.storage.s3.storage import S3Storage
from small_s3 import BIG, KEYS, Clock


def everything(storage: S3Storage) -> dict[str, Callable[[], object]]:
    return {
        "list": lambda: list(storage.list()),
        "stat": lambda: storage.stat("a"),
        "open": lambda: storage.open("a"),
        "read": lambda: storage.read("a"),
        "read an odd key": lambda: storage.read("a//b"),
        "write": lambda: storage.write("a", b"x"),
        "write a lot": lambda: storage.write("a", BIG),
        "create": lambda: storage.create("b", b"x"),
        "copy": lambda: storage.copy("a", "b"),
        "delete": lambda: storage.delete("a"),
        "sweep": lambda: storage.sweep(),
    }


WRITING = {"write", "write a lot", "create", "copy", "delete"}


@pytest.mark.parametrize("what", everything(S3Storage(endpoint("http://x"), "b")))
@pytest.mark.parametrize(("access", "secret"), [(ACCESS, "wrong-canary"), ("stranger", SECRET)])
def test_wrong_key_is_reported_and_never_shown(
    url: str, service: SmallS3, clock: Clock, what: str, access: str, secret: str
) -> None:
    storage = S3Storage(endpoint(url, access, secret), "bucket", retry=clock.retry)

    with pytest.raises(WrongKey, match="does not accept the key") as caught:
        everything(storage)[what]()

    shown = f"{caught.value!r} {caught.value} {caught.value.__cause__!r} {storage!r}"
    assert not {access, secret, ACCESS} & set(shown.replace("'", " ").split())
    assert "canary" not in shown
    assert clock.waits == []


@pytest.mark.parametrize("what", everything(S3Storage(endpoint("http://x"), "b")))
def test_read_only_key_error_names_the_action(
    url: str, service: SmallS3, storage: S3Storage, clock: Clock, what: str
) -> None:
    storage.write("a", b"x")
    reader = S3Storage(endpoint(url, READER), "bucket", retry=clock.retry)

    if what not in WRITING:
        everything(reader)[what]()
        return
    with pytest.raises(NoPermission, match=r"no permission for '[ab]' in bucket"):
        everything(reader)[what]()
    assert clock.waits == []
    assert {key: stored.data for key, stored in service.buckets["bucket"].items()} == {"a": b"x"}


@pytest.mark.parametrize("what", ["list", "open", "read", "write", "write a lot", "create"])
def test_a_bucket_that_is_not_there_is_reported(url: str, clock: Clock, what: str) -> None:
    storage = S3Storage(endpoint(url), "nowhere", retry=clock.retry)

    with pytest.raises(NoBucket, match="There is no bucket 'nowhere' at "):
        everything(storage)[what]()


def test_object_that_is_not_there_is_no_failure(storage: S3Storage, clock: Clock) -> None:
    for key in KEYS:
        assert storage.read(key) is None
        assert storage.stat(key) is None
        with pytest.raises(NotFound):
            storage.open(key)
    assert clock.waits == []


def test_a_clock_that_is_off_is_reported(service: SmallS3, storage: S3Storage) -> None:
    service.faults = [lambda _: error(403, "RequestTimeTooSkewed")]

    with pytest.raises(StorageError, match="rejects the clock of this machine"):
        storage.read("a")
