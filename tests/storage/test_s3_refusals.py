"""A service that refuses: a wrong key, a missing permission, a missing bucket, told apart."""

from collections.abc import Callable

import pytest

from danlu.errors import NotFound, StorageError
from danlu.storage.s3 import S3Storage
from danlu.storage.s3_faults import NoBucket, NoPermission, WrongKey
from danlu.testing.s3_server import endpoint
from danlu.testing.s3_service import ACCESS, READER, SECRET, SmallS3, error
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
def test_a_wrong_key_is_told_at_once_and_never_shown(
    url: str, service: SmallS3, clock: Clock, what: str, access: str, secret: str
) -> None:
    storage = S3Storage(endpoint(url, access, secret), "bucket", patience=clock.patience)

    with pytest.raises(WrongKey, match="does not accept the key") as caught:
        everything(storage)[what]()

    shown = f"{caught.value!r} {caught.value} {caught.value.__cause__!r} {storage!r}"
    assert not {access, secret, ACCESS} & set(shown.replace("'", " ").split())
    assert "canary" not in shown
    assert clock.waits == []


@pytest.mark.parametrize("what", everything(S3Storage(endpoint("http://x"), "b")))
def test_a_key_that_may_only_read_is_told_what_it_may_not(
    url: str, service: SmallS3, storage: S3Storage, clock: Clock, what: str
) -> None:
    storage.write("a", b"x")
    reader = S3Storage(endpoint(url, READER), "bucket", patience=clock.patience)

    if what not in WRITING:
        everything(reader)[what]()
        return
    with pytest.raises(NoPermission, match=r"not allowed to do this with '[ab]' in bucket"):
        everything(reader)[what]()
    assert clock.waits == []
    assert {key: stored.data for key, stored in service.buckets["bucket"].items()} == {"a": b"x"}


@pytest.mark.parametrize("what", ["list", "open", "read", "write", "write a lot", "create"])
def test_a_bucket_that_is_not_there_is_told(url: str, clock: Clock, what: str) -> None:
    storage = S3Storage(endpoint(url), "nowhere", patience=clock.patience)

    with pytest.raises(NoBucket, match="There is no bucket 'nowhere' at "):
        everything(storage)[what]()


def test_an_object_that_is_not_there_is_no_failure(storage: S3Storage, clock: Clock) -> None:
    for key in KEYS:
        assert storage.read(key) is None
        assert storage.stat(key) is None
        with pytest.raises(NotFound):
            storage.open(key)
    assert clock.waits == []


def test_a_clock_that_is_off_is_told(service: SmallS3, storage: S3Storage) -> None:
    service.faults = [lambda _: error(403, "RequestTimeTooSkewed")]

    with pytest.raises(StorageError, match="refuses the clock of this machine"):
        storage.read("a")
