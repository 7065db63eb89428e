"""URIs: what they name, and the errors for invalid ones."""

import os
from pathlib import Path

import pytest

from contracts.storage import MemoryStorage
from danlu.errors import NotFound, Refused
from danlu.settings import Endpoint, Settings
from danlu.storage.local import FileStorage
from danlu.storage.locate import Address, Location, Stores, code_uri, file_uri, parse
from danlu.storage.s3.upload import lock_upload_record

SHA = "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("uri", "address"),
    [
        ("obs://bucket", Address("obs", "bucket", "")),
        ("obs://bucket/", Address("obs", "bucket", "")),
        ("S3://bucket/a/b", Address("s3", "bucket", "a/b")),
        ("ks3://my.bucket-1/a//b/", Address("ks3", "my.bucket-1", "a//b/")),
        ("cos://bucket-125/数据/%2e?x#y", Address("cos", "bucket-125", "数据/%2e?x#y")),
        ("obs://bucket//a", Address("obs", "bucket", "/a")),
        ("obs://bucket/../x", Address("obs", "bucket", "../x")),
        ("obs://bucket/a\nb", Address("obs", "bucket", "a\nb")),
        ("file:///data", Address("file", "", "/data")),
        ("file:///data/", Address("file", "", "/data")),
        ("file://localhost/data", Address("file", "", "/data")),
        ("file:///a%20b/%E6%95%B0", Address("file", "", "/a b/数")),
        ("file:////a/../b", Address("file", "", "/b")),
        ("file:///", Address("file", "", "/")),
        (f"danlu://code/{SHA}.tar.gz", Address("danlu", "code", f"{SHA}.tar.gz")),
    ],
)
def test_uris_and_their_parts(uri: str, address: Address) -> None:
    assert parse(uri) == address


@pytest.mark.parametrize(
    ("uri", "sentence"),
    [
        ("/data", "is not a URI"),
        ("", "is not a URI"),
        ("obs:/bucket/a", "is not a URI"),
        ("file://data/mnist", "by its whole path"),
        ("file://", "by its whole path"),
        ("file:///a%00b", "by its whole path"),
        ("obs://", "'' in 'obs://' cannot be the name of a bucket"),
        ("obs:///a", "cannot be the name of a bucket"),
        ("obs://My_Bucket/a", "'My_Bucket'"),
        ("obs://ab/a", "'ab'"),
        ("obs://../a", "'..'"),
        ("obs://a..b/a", "'a..b'"),
        ("obs://-ab/a", "'-ab'"),
        ("obs://" + "a" * 64, "cannot be the name of a bucket"),
        ("obs://buck\0et/a", "cannot be the name of a bucket"),
        ("danlu://code/../x", "is not the name of a code archive"),
        ("danlu://code/abc.tar.gz", "is not the name of a code archive"),
        (f"danlu://data/{SHA}.tar.gz", "is not the name of a code archive"),
    ],
)
def test_bad_uri_is_refused_with_right_form(uri: str, sentence: str) -> None:
    with pytest.raises(Refused) as caught:
        parse(uri)

    assert sentence in caught.value.message
    assert caught.value.hint


def test_unknown_scheme_is_reported_with_known_ones() -> None:
    with pytest.raises(NotFound, match="no scheme named 'hdfs'") as caught:
        parse("hdfs://name/a")

    assert caught.value.hint == "Known: cos, danlu, file, ks3, obs, s3."


def test_all_schemes_of_buckets_mean_one_bucket(tmp_path: Path) -> None:
    stores = Stores(tmp_path)
    place = stores.at("s3://bucket/a//b")
    place.storage.write(place.key, b"x")

    for scheme in ("obs", "s3", "ks3", "cos"):
        place = stores.at(f"{scheme}://bucket/a//b")
        assert place.storage.read(place.key) == b"x"
    assert stores.canonical("s3://bucket/a/") == stores.canonical("obs://bucket/a")
    assert stores.canonical("s3://bucket/a//") != stores.canonical("obs://bucket/a")
    assert (tmp_path / "buckets" / "bucket").is_dir()


def test_one_name_at_two_services_is_two_places(tmp_path: Path) -> None:
    near, far = Endpoint("https://one.example.com"), Endpoint("https://two.example.com")
    stores = Stores(tmp_path, {"obs": near, "ks3": far, "cos": near})
    places = {scheme: f"{scheme}://bucket/a" for scheme in ("obs", "s3", "ks3", "cos")}

    found = {scheme: stores.canonical(uri) for scheme, uri in places.items()}

    assert found["obs"] == found["s3"] == found["cos"]
    assert found["ks3"] != found["obs"]
    assert Stores(tmp_path).canonical("obs://bucket/a") not in found.values()
    assert stores.at("ks3://bucket/a/").canonical == found["ks3"]


def test_scheme_with_endpoint_means_bucket_there(tmp_path: Path) -> None:
    settings = Settings(
        home=tmp_path,
        stores={"obs": Endpoint("https://obs.example.com"), "ks3": Endpoint("https://ks3")},
    )
    stores = Stores.of(settings)

    for scheme in ("obs", "s3"):  # one service
        place = stores.at(f"{scheme}://bucket/a//b")
        assert repr(place.storage) == "S3Storage('obs.example.com', 'bucket')"
        assert (place.key, place.uri) == ("a//b", f"{scheme}://bucket/a//b")
    assert repr(stores.at("ks3://bucket/a").storage) == "S3Storage('ks3', 'bucket')"
    assert stores.at("obs://bucket").storage is stores.at("s3://bucket/x").storage
    assert stores.at("obs://bucket").storage is not stores.at("obs://other").storage
    for uri in ("cos://bucket/a", code_uri(SHA), file_uri(tmp_path)):
        assert isinstance(stores.at(uri).storage, FileStorage)


def test_file_uri_is_folder_or_file(tmp_path: Path) -> None:
    ugly = tmp_path / "blank %41 '数据\n"
    ugly.mkdir()
    (ugly / "file").write_bytes(b"x")
    stores = Stores(tmp_path / "store")

    assert stores.at(file_uri(ugly)).key == ""
    assert [path for path, _ in stores.at(file_uri(ugly)).tree()] == ["file"]
    assert stores.at(ugly.as_uri()).exists()
    single = stores.at(file_uri(ugly / "file"))
    assert single.key == "file"
    assert [path for path, _ in single.tree()] == ["file"]
    assert not stores.at(file_uri(tmp_path / "nothing")).exists()


def test_path_that_is_not_utf8_has_uri(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xd1\xb5"))
    path.mkdir()

    assert parse(file_uri(path)).key == str(path)


def test_code_archives_are_by_their_digest(tmp_path: Path) -> None:
    place = Stores(tmp_path).at(code_uri(SHA))
    place.storage.write(place.key, b"x")

    assert (tmp_path / "code" / f"{SHA}.tar.gz").read_bytes() == b"x"
    assert parse(place.uri).code_digest == SHA
    assert parse("obs://bucket/" + f"{SHA}.tar.gz").code_digest == ""


def at(key: str, *keys: str) -> Location:
    return Location(MemoryStorage((name, b"") for name in keys), key, f"obs://bucket/{key}")


@pytest.mark.parametrize(
    ("location", "paths"),
    [
        (at("", "a", "b/c"), ["a", "b/c"]),
        (at("d", "d/a", "d/b/c", "d-2", "d"), ["a", "b/c"]),
        (at("d/", "d/a", "d"), ["a"]),
        (at("d/", "d/"), []),
        (at("d/e", "d/e"), ["e"]),
        (at("d/e/", "d/e"), []),
        (at("d", "d/", "d/x/"), ["x/"]),
        (at("d/", "d//a"), ["/a"]),
        (at("d", "da"), []),
    ],
)
def test_the_tree_at_a_key(location: Location, paths: list[str]) -> None:
    assert [path for path, _ in location.tree()] == paths


@pytest.mark.parametrize(
    ("location", "exists", "empty"),
    [
        (at("d", "d/a"), True, False),
        (at("d", "d"), True, False),
        (at("d", "d/"), True, True),
        (at("d", "d/x/"), True, True),
        (at("d", "da"), False, True),
        (at(""), False, True),
    ],
)
def test_what_exists_and_what_is_empty(location: Location, exists: bool, empty: bool) -> None:
    assert location.exists() is exists
    assert location.is_empty() is empty


def test_an_empty_folder_exists(tmp_path: Path) -> None:
    place = Stores(tmp_path).at(file_uri(tmp_path))

    assert place.exists()
    assert place.is_empty()


def test_sweeping_reaches_every_bucket(tmp_path: Path) -> None:
    left = tmp_path / "buckets" / "bucket" / "a" / ".danlu-tmp-0123456789ab"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"")
    os.utime(left, (0, 0))

    Stores(tmp_path).sweep()

    assert not left.exists()
    assert isinstance(Stores(tmp_path).at("obs://bucket").storage, FileStorage)


def test_code_archives_are_in_cluster_store(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, cluster_store="s3://bucket/danlu/")

    place = Stores.of(settings).at(code_uri(SHA))

    assert place.key == f"danlu/code/{SHA}.tar.gz"
    assert place.storage.write(place.key, b"x")
    assert Stores.of(settings).at(f"obs://bucket/danlu/code/{SHA}.tar.gz").single()


@pytest.mark.parametrize("write", ["store", "bucket", "upload"])
def test_home_created_by_write_has_mode_0700(tmp_path: Path, write: str) -> None:
    settings = Settings(tmp_path / "deep/home")
    place = Stores.of(settings).at("obs://bucket/a")
    assert isinstance(place.storage, FileStorage)

    if write == "store":
        place.storage.write("a", b"1")
    elif write == "bucket":
        place.storage.make_root()
    else:
        with lock_upload_record(settings.home / "uploads", "one") as note:
            assert note is not None

    assert settings.home.stat().st_mode & 0o777 == 0o700
