"""A real service with keys that may do everything, only read, or nothing."""

from dataclasses import replace

import pytest

from danlu.settings import Secret
from danlu.storage.s3.answers import NoBucket, NoPermission, WrongKey
from danlu.storage.s3.storage import S3Storage
from seaweed import Seaweed
from small_s3 import BIG


@pytest.mark.smoke
def test_read_only_key_cannot_write(seaweed: Seaweed) -> None:
    owner = seaweed.bucket("roles")
    owner.write("data/a", b"x")
    reader = S3Storage(seaweed.reader, "roles")

    assert reader.read("data/a") == b"x"
    assert [entry.key for entry in reader.list()] == ["data/a"]
    for attempt in (
        lambda: reader.write("data/a", b"y"),
        lambda: reader.write("data/b", BIG),
        lambda: reader.create("data/b", b"y"),
        lambda: reader.copy("data/a", "data/b"),
        lambda: reader.delete("data/a"),
    ):
        with pytest.raises(NoPermission, match="The key has no permission for 'data/"):
            attempt()
    assert [entry.key for entry in owner.list()] == ["data/a"]
    assert owner.read("data/a") == b"x"


@pytest.mark.parametrize("wrong", ["access_key", "secret_key"])
def test_wrong_key_is_distinguished_from_missing_permission(seaweed: Seaweed, wrong: str) -> None:
    seaweed.bucket("roles").write("a", b"x")
    place = replace(seaweed.endpoint, **{wrong: Secret("canary-0123456789")})
    other = S3Storage(place, "roles")

    for attempt in (
        lambda: other.read("a"),
        lambda: other.stat("a"),
        lambda: list(other.list()),
    ):
        with pytest.raises(WrongKey, match="does not accept the key") as caught:
            attempt()
        assert "canary" not in f"{caught.value}{caught.value.__cause__}"


def test_a_bucket_that_is_not_there_is_reported(seaweed: Seaweed) -> None:
    nowhere = S3Storage(seaweed.endpoint, "nowhere")

    with pytest.raises(NoBucket, match="There is no bucket 'nowhere'"):
        nowhere.read("a")
    with pytest.raises(NoBucket, match="There is no bucket 'nowhere'"):
        list(nowhere.list())


def test_a_large_object_comes_back_as_it_was(seaweed: Seaweed) -> None:
    storage = seaweed.bucket("large")

    entry = storage.write("model", BIG)

    assert storage.stat("model") == entry
    assert storage.read("model", 8 << 20, 100) == BIG[8 << 20 : (8 << 20) + 100]
    with storage.open("model") as file:
        assert b"".join(iter(lambda: file.read(3 << 20), b"")) == BIG
    assert storage.copy("model", "copy of model").size == len(BIG)
    assert storage.read("copy of model") == BIG
