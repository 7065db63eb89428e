"""What a directory in a bucket is."""

from pathlib import Path

import pytest

from contracts.storage import UNUSUAL_KEYS, MemoryStorage
from danlu.storage import paths, paths_lookup
from danlu.storage.api import Entry, Storage
from danlu.storage.local import FileStorage
from danlu.storage.paths import browse, children
from danlu.storage.paths_lookup import collapsed, folders, spellings
from object_access import got, put

pytestmark = pytest.mark.usefixtures("own_store")


def place(uri: str, data: bytes) -> None:
    """Write an object under exactly this key, as other tools do."""
    location = paths_lookup.place(uri)
    location.storage.write(location.key, data)


class Plain:
    """A storage that can only list all of a prefix."""

    def __init__(self, storage: Storage) -> None:
        self.list = storage.list


@pytest.mark.parametrize("plain", [False, True])
def test_folder_is_listed_like_all_below_it(tmp_path, plain):
    storage = FileStorage(tmp_path / "x", plain=plain)
    keys = [key for key in UNUSUAL_KEYS if not plain] + ["a/b/c", "a/b/d", "a/e", "long/x/y", "f"]
    for key in keys:
        storage.write(key, b"")
    prefixes = {""} | {key[: end + 1] for key in keys for end in range(len(key)) if key[end] == "/"}

    for prefix in prefixes:
        assert list(storage.children(prefix)) == list(children(Plain(storage), prefix))


def test_folder_that_killed_writer_left_is_none(tmp_path):
    storage = FileStorage(tmp_path, plain=False)
    storage.write("a/b", b"")
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / ".danlu-tmp-0123456789ab").touch()

    assert [entry.key for entry in storage.children("")] == ["a/"]


def test_any_storage_can_be_browsed():
    storage = MemoryStorage()
    for key in ("a/b/c", "a/d", "a//e", "a/"):
        storage.write(key, b"")

    found = browse(storage, "a/")

    assert [(child.name, child.is_directory) for child in found] == [
        *(("b", True), ("d", False), ("e", False))
    ]
    assert browse(storage, "none/") is None


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("a/b", ("a/b", "a//b")),
        ("a//b", ("a//b", "a/b")),
        ("a/./b", ("a/./b", "a/b")),
        ("b", ("b", "/b")),
        ("/b", ("/b", "b")),
    ],
)
def test_a_key_has_its_exact_spelling_first(key, expected):
    assert spellings(key) == expected


def test_spellings_of_directories():
    assert (folders(""), folders("//"), folders("a/")) == (("",), ("",), ("a/",))
    assert folders("a//b") == ("a//b/", "a/b/")
    assert collapsed("//a/./b/") == "a/b/"


def test_an_exact_key_wins_over_another_spelling():
    place("obs://bucket/a/b", b"one")
    place("obs://bucket/a//b", b"two")

    assert got("obs://bucket/a/b") == b"one"
    assert got("obs://bucket/a//b") == b"two"

    put("obs://bucket/a//b", b"three")
    assert got("obs://bucket/a/b") == b"one"
    assert got("obs://bucket/a//b") == b"three"


def test_new_object_has_no_empty_key_parts():
    put("obs://bucket/out//model", b"1")
    paths.make_directories("obs://bucket/out//logs/")
    paths.copy("obs://bucket/out/model", "obs://bucket/out///copy")
    paths.rename("obs://bucket/out/copy", "obs://bucket//moved")

    assert sorted(key for key, _ in paths.objects("obs://bucket")) == [
        *("moved", "out/logs/", "out/model")
    ]
    assert got("obs://bucket/out//model") == b"1"


def test_object_of_another_spelling_is_changed_there():
    place("obs://bucket/a//b", b"one")

    with paths.open_write("obs://bucket/a/b", append=True) as file:
        file.write(b" two")
    assert [key for key, _ in paths.objects("obs://bucket")] == ["a//b"]
    paths.remove("obs://bucket/a/b")
    assert not paths.exists("obs://bucket/a//b")


def test_directory_is_found_by_either_spelling():
    storage = paths_lookup.place("obs://bucket").storage
    storage.write("a//b/", b"")  # as SeaweedFS shows a//b/c, which is a/b/c there
    put("obs://bucket/a/b/c", b"1")

    assert paths.list_directory("obs://bucket/a//b") == ["c"]
    assert [relative for relative, _ in paths.objects("obs://bucket/a//b")] == ["c"]
    assert paths.glob("obs://bucket/a//b/*") == ["obs://bucket/a//b/c"]
    paths.rename("obs://bucket/a//b", "obs://bucket/d")
    assert got("obs://bucket/d/c") == b"1"
    assert paths.list_directory("obs://bucket/a//b") == []


@pytest.mark.parametrize("path", ["obs://b", b"cos://b/x", Path("ks3://b/x"), "S3://b", "obs:/b"])
def test_paths_of_stores_are_known_in_any_form(path):
    assert paths.is_remote(path)


@pytest.mark.parametrize("path", ["/obs:/b", "file:///x", "obs", "obs:b", 3, None, b"x", Path("x")])
def test_everything_else_is_not_of_a_store(path):
    assert not paths.is_remote(path)


def test_a_path_object_gets_its_slash_back():
    put("obs://bucket/x", b"1")

    assert paths.text(Path("obs://bucket/x")) == "obs://bucket/x"
    assert paths.stat(Path("obs://bucket/x")).size == 1


def test_directory_exists_by_content_or_marker():
    put("obs://bucket/a/b/c")
    paths.make_directories("obs://bucket/d/e")

    assert [paths.is_directory(f"obs://bucket/{name}") for name in ("a", "a/b", "d", "d/e/")] == [
        *(True, True, True, True)
    ]
    assert paths.stat("obs://bucket/d") == paths.Status(
        0, paths.stat("obs://bucket/d").mtime_ns, True
    )
    paths.remove_tree("obs://bucket/d/e")
    assert paths.list_directory("obs://bucket/d") == []


def test_bucket_is_directory_once_something_was_in_it():
    assert not paths.exists("obs://bucket")
    put("obs://bucket/x")
    paths.remove("obs://bucket/x")

    assert paths.list_directory("obs://bucket") == []
    paths.make_directories("obs://second")
    assert paths.is_directory("obs://second/")


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: paths.remove("obs://bucket/d"), IsADirectoryError),
        (lambda: paths.open_read("obs://bucket/d"), IsADirectoryError),
        (lambda: paths.open_write("obs://bucket/d/"), IsADirectoryError),
        (lambda: paths.copy("obs://bucket/d", "obs://bucket/e"), IsADirectoryError),
        (lambda: paths.remove_tree("obs://bucket/d/x"), NotADirectoryError),
        (lambda: paths.scan("obs://bucket/d/x"), NotADirectoryError),
        (lambda: paths.remove_directory("obs://bucket/d"), OSError),
        (lambda: paths.remove_tree("obs://bucket"), PermissionError),
        (lambda: paths.rename("obs://bucket/none", "obs://bucket/e"), FileNotFoundError),
        (lambda: paths.remove("obs://bucket/d/none"), FileNotFoundError),
        (lambda: paths.open_edit("obs://bucket/none", "r+b"), FileNotFoundError),
    ],
)
def test_failure_has_the_same_error_as_os(call, error):
    put("obs://bucket/d/x")

    with pytest.raises(error) as caught:
        call()
    assert caught.value.filename.startswith("obs://bucket")
    assert [key for key, _ in paths.objects("obs://bucket")] == ["d/x"]


def test_copies_go_between_buckets():
    put("obs://bucket/x", b"1")

    assert paths.copy("obs://bucket/x", "s3://other/y").size == 1
    assert got("obs://other/y") == b"1"


def test_hidden_names_match_if_requested():
    put("obs://bucket/.a")
    put("obs://bucket/b")

    assert paths.glob("obs://bucket/*") == ["obs://bucket/b"]
    assert paths.glob("obs://bucket/*", hidden=True) == ["obs://bucket/.a", "obs://bucket/b"]
    assert paths.glob("obs://bucket/.*") == ["obs://bucket/.a"]


def test_a_copy_that_came_short_is_an_error():
    class Short(MemoryStorage):
        def copy(self, key: str, to: str) -> Entry:
            return self.write(to, b"")

    storage = Short()
    storage.write("x", b"123")

    with pytest.raises(Exception, match="0 bytes of 3"):
        paths.copy_object(storage, storage.stat("x"), storage, "y")


def test_script_does_not_see_platforms_own_folder(own_store):
    for key in ("model", "sub/x", ".danlu/start/j.json", ".danlu/previous/j/model"):
        with paths.open_write(f"obs://bucket/out/{key}") as file:
            file.write(b"x")

    assert paths.list_directory("obs://bucket/out") == ["model", "sub"]
    assert [path for path, _ in paths.objects("obs://bucket/out")] == ["model", "sub/x"]
    assert [at for at, _, _ in paths.walk("obs://bucket/out")] == [
        "obs://bucket/out",
        "obs://bucket/out/sub",
    ]
    assert paths.glob("obs://bucket/out/*", hidden=True) == [
        "obs://bucket/out/model",
        "obs://bucket/out/sub",
    ]
    assert paths.remove_tree("obs://bucket/out") == 2
    assert not paths.exists("obs://bucket/out")
    assert paths.exists("obs://bucket/out/.danlu/previous/j/model")
