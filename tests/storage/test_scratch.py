"""A rehearsal reads the real buckets, and changes only its scratch folder."""

import pytest

from contracts.s3_server import SmallS3, endpoint, serve
from danlu.storage import paths
from danlu.storage.locate import Stores

SCRATCH = "obs://danlu-rehearsals/job"


@pytest.fixture
def real(tmp_path):
    """The stores without the redirection, with a training in a bucket."""
    stores = Stores(tmp_path / "store")
    for key in ("ckpt/checkpoint", "ckpt/old.index", "data/x.csv"):
        stores.at("ks3://bucket").storage.write(key, b"real")
    return stores


@pytest.fixture
def rehearsal(real, tmp_path):
    stores = Stores(tmp_path / "store")
    stores.redirect(SCRATCH)
    paths.use(stores)
    yield stores
    paths.use(None)


def content(stores, uri="ks3://bucket"):
    storage = stores.at(uri).storage
    return {entry.key: storage.read(entry.key) for entry in storage.list()}


def test_changes_are_seen_and_the_bucket_stays(real, rehearsal):
    before = content(real)

    with paths.open_write("ks3://bucket/ckpt/checkpoint") as file:
        file.write(b"new")
    with paths.open_write("s3://bucket/ckpt/new.index") as file:
        file.write(b"new")
    paths.remove("obs://bucket/ckpt/old.index")
    paths.rename("ks3://bucket/data", "ks3://bucket/moved")

    assert content(rehearsal, "cos://bucket") == {
        "ckpt/checkpoint": b"new",
        "ckpt/new.index": b"new",
        "moved/x.csv": b"real",
    }
    assert paths.list_directory("ks3://bucket") == ["ckpt", "moved"]
    assert paths.list_directory("ks3://bucket/ckpt") == ["checkpoint", "new.index"]
    assert not paths.exists("ks3://bucket/data")
    assert content(real) == before


def test_a_removed_tree_may_be_written_again(real, rehearsal):
    before = content(real)
    assert paths.remove_tree("ks3://bucket/ckpt") == 2
    assert not paths.exists("ks3://bucket/ckpt")

    with paths.open_write("ks3://bucket/ckpt/checkpoint") as file:
        file.write(b"again")

    assert paths.list_directory("ks3://bucket/ckpt") == ["checkpoint"]
    assert content(real) == before


def test_the_scratch_folder_itself_is_changed(real, rehearsal):
    with paths.open_write(f"{SCRATCH}/train_url/model") as file:
        file.write(b"model")

    assert content(real, "obs://danlu-rehearsals") == {"job/train_url/model": b"model"}


def test_bucket_that_does_not_exist_is_not_found(rehearsal):
    assert not paths.exists("ks3://other")
    assert paths.exists("ks3://bucket")


def test_a_bucket_of_a_service_is_only_read(tmp_path):
    service = SmallS3("bucket")
    with serve(service) as url:
        endpoints = {"ks3": endpoint(url)}
        real = Stores(tmp_path / "store", endpoints)
        real.at("ks3://bucket").storage.write("data/x.csv", b"real")
        stores = Stores(tmp_path / "store", endpoints)
        stores.redirect(SCRATCH)

        storage = stores.at("ks3://bucket").storage
        storage.write("data/x.csv", b"new")
        storage.write("out/model", b"model")

        assert content(stores) == {"data/x.csv": b"new", "out/model": b"model"}
        assert content(real) == {"data/x.csv": b"real"}
