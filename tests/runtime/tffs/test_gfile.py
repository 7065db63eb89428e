"""Every function of ``tf.gfile`` and ``tf.io.gfile`` on a path of an object store."""

from collections.abc import Callable
from typing import Any

import pytest

Case = Callable[[Any, str], None]


def write_and_read(gfile: Any, bucket: str) -> None:
    path = f"{bucket}/a/b c/中文 %25+'\"&.txt"
    with gfile.GFile(path, "w") as file:
        file.write("first\nsecond\n")
        file.write("third")
    with gfile.GFile(path) as file:
        assert file.size() == 18
        assert file.readline() == "first\n"
        assert file.tell() == 6
        assert list(file) == ["second\n", "third"]
        file.seek(6)
        assert file.read(6) == "second"
    with gfile.GFile(path, "rb") as file:
        assert file.read() == b"first\nsecond\nthird"


def append(gfile: Any, bucket: str) -> None:
    path = f"{bucket}/log"
    for text in ("one,", "two,", "three"):
        with gfile.GFile(path, "a") as file:
            file.write(text)
    assert gfile.GFile(path).read() == "one,two,three"


def flushed_bytes_are_seen(gfile: Any, bucket: str) -> None:
    path = f"{bucket}/log"
    writer = gfile.GFile(path, "w")
    writer.write("seen")
    writer.flush()
    writer.write(", not yet")
    assert gfile.GFile(path).read() == "seen"
    writer.close()
    assert gfile.GFile(path).read() == "seen, not yet"


def write_over(gfile: Any, bucket: str) -> None:
    for text in ("long text", "short"):
        with gfile.GFile(f"{bucket}/a", "w") as file:
            file.write(text)
    assert gfile.GFile(f"{bucket}/a").read() == "short"


def a_large_file(gfile: Any, bucket: str) -> None:
    piece = bytes(range(256)) * 1024
    with gfile.GFile(f"{bucket}/large", "wb") as file:
        for _ in range(40):
            file.write(piece)
    with gfile.GFile(f"{bucket}/large", "rb") as file:
        assert file.size() == 40 * len(piece)
        file.seek(39 * len(piece) + 7)
        assert file.read(10) == piece[7:17]
        file.seek(0)
        assert file.read() == piece * 40


def exists_and_isdir(gfile: Any, bucket: str) -> None:
    _write(gfile, f"{bucket}/a/b", "x")
    assert [gfile.exists(f"{bucket}/{name}") for name in ("a/b", "a", "a/", "b", "a/b/c")] == [
        True,
        True,
        True,
        False,
        False,
    ]
    assert [gfile.isdir(f"{bucket}/{name}") for name in ("a/b", "a", "a/", "b")] == [
        False,
        True,
        True,
        False,
    ]


def listdir(gfile: Any, bucket: str) -> None:
    for name in ("a/one", "a/two/three", "a/two/four", "b"):
        _write(gfile, f"{bucket}/{name}", "x")
    assert sorted(gfile.listdir(f"{bucket}/a")) == ["one", "two"]
    assert sorted(gfile.listdir(f"{bucket}/a/")) == ["one", "two"]
    assert sorted(gfile.listdir(bucket)) == ["a", "b"]


def glob(gfile: Any, bucket: str) -> None:
    for name in ("m-1.index", "m-2.index", "m-2.data", "sub/m-3.index", ".hidden.index"):
        _write(gfile, f"{bucket}/out/{name}", "x")
    assert gfile.glob(f"{bucket}/out/m-*.index") == [
        f"{bucket}/out/m-1.index",
        f"{bucket}/out/m-2.index",
    ]
    assert gfile.glob(f"{bucket}/*/*/m-[0-9].ind?x") == [f"{bucket}/out/sub/m-3.index"]
    assert gfile.glob(f"{bucket}/out/m-[^1].index") == [f"{bucket}/out/m-2.index"]
    assert gfile.glob(f"{bucket}/out/*.index")[0] == f"{bucket}/out/.hidden.index"
    assert gfile.glob([f"{bucket}/out/m-1.index", f"{bucket}/none*"]) == [f"{bucket}/out/m-1.index"]


def walk(gfile: Any, bucket: str) -> None:
    for name in ("top", "a/one", "a/b/two"):
        _write(gfile, f"{bucket}/tree/{name}", "x")
    found = [
        (path, sorted(folders), sorted(files)) for path, folders, files in _walk(gfile, bucket)
    ]
    assert found == [
        (f"{bucket}/tree", ["a"], ["top"]),
        (f"{bucket}/tree/a", ["b"], ["one"]),
        (f"{bucket}/tree/a/b", [], ["two"]),
    ]


def makedirs(gfile: Any, bucket: str) -> None:
    gfile.makedirs(f"{bucket}/a/b/c")
    gfile.makedirs(f"{bucket}/a/b/c")
    assert gfile.isdir(f"{bucket}/a/b/c")
    assert gfile.listdir(f"{bucket}/a/b/c") == []
    assert gfile.listdir(f"{bucket}/a") == ["b"]


def mkdir(gfile: Any, bucket: str) -> None:
    gfile.mkdir(f"{bucket}/empty")
    assert gfile.isdir(f"{bucket}/empty")
    assert gfile.listdir(f"{bucket}/empty") == []


def remove(gfile: Any, bucket: str) -> None:
    _write(gfile, f"{bucket}/a/b", "x")
    _write(gfile, f"{bucket}/a/c", "x")
    gfile.remove(f"{bucket}/a/b")
    assert gfile.listdir(f"{bucket}/a") == ["c"]


def rmtree(gfile: Any, bucket: str) -> None:
    for name in ("a/b/c", "a/d", "ab"):
        _write(gfile, f"{bucket}/{name}", "x")
    gfile.rmtree(f"{bucket}/a")
    assert gfile.listdir(bucket) == ["ab"]


def rename_a_file(gfile: Any, bucket: str) -> None:
    _write(gfile, f"{bucket}/a", "new")
    _write(gfile, f"{bucket}/b", "old")
    gfile.rename(f"{bucket}/a", f"{bucket}/b", overwrite=True)
    assert gfile.GFile(f"{bucket}/b").read() == "new"
    assert not gfile.exists(f"{bucket}/a")


def rename_a_directory(gfile: Any, bucket: str) -> None:
    _write(gfile, f"{bucket}/temp-1/variables/v", "x")
    gfile.makedirs(f"{bucket}/temp-1/assets")
    gfile.rename(f"{bucket}/temp-1", f"{bucket}/export/1")
    assert gfile.listdir(f"{bucket}/export/1") == ["assets", "variables"]
    assert gfile.GFile(f"{bucket}/export/1/variables/v").read() == "x"
    assert not gfile.exists(f"{bucket}/temp-1")


def copy(gfile: Any, bucket: str) -> None:
    _write(gfile, f"{bucket}/a", "text")
    gfile.copy(f"{bucket}/a", f"{bucket}/b/c")
    assert gfile.GFile(f"{bucket}/b/c").read() == "text"
    assert gfile.exists(f"{bucket}/a")


def copy_between_a_disk_and_a_store(gfile: Any, bucket: str) -> None:
    import os
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        local = os.path.join(folder, "a")
        _write(gfile, local, "from here")
        gfile.copy(local, f"{bucket}/a")
        gfile.copy(f"{bucket}/a", os.path.join(folder, "b"))
        assert gfile.GFile(os.path.join(folder, "b")).read() == "from here"


def copy_between_schemes(gfile: Any, bucket: str) -> None:
    _write(gfile, f"{bucket}/a", "one")
    gfile.copy(f"{bucket}/a", "ks3://other-bucket/b")
    assert gfile.GFile("cos://other-bucket/b").read() == "one"


def stat(gfile: Any, bucket: str) -> None:
    import time

    _write(gfile, f"{bucket}/a/b", "12345")
    found = gfile.stat(f"{bucket}/a/b")
    assert (found.length, found.is_directory) == (5, False)
    assert abs(found.mtime_nsec / 1e9 - time.time()) < 3600
    assert gfile.stat(f"{bucket}/a").is_directory


def doubled_slashes(gfile: Any, bucket: str) -> None:
    _write(gfile, f"{bucket}/ckpt//model.ckpt", "x")
    for path in (f"{bucket}/ckpt//model.ckpt", f"{bucket}/ckpt/model.ckpt"):
        assert gfile.GFile(path).read() == "x"
        assert gfile.exists(path)
        assert gfile.glob(path) == [path]
    assert gfile.listdir(f"{bucket}/ckpt") == ["model.ckpt"]


CASES: dict[str, Case] = {
    case.__name__: case
    for case in (
        write_and_read,
        append,
        flushed_bytes_are_seen,
        write_over,
        a_large_file,
        exists_and_isdir,
        listdir,
        glob,
        walk,
        makedirs,
        mkdir,
        remove,
        rmtree,
        rename_a_file,
        rename_a_directory,
        copy,
        copy_between_a_disk_and_a_store,
        copy_between_schemes,
        stat,
        doubled_slashes,
    )
}


@pytest.mark.parametrize("case", CASES)
def test_in_the_second_generation(tf2: Any, bucket: str, case: str) -> None:
    CASES[case](tf2.io.gfile, bucket)


def test_in_the_first_generation_by_its_own_names(tf: Any, bucket: str) -> None:
    gfile = tf.gfile
    gfile.MakeDirs(f"{bucket}/a/b")
    with gfile.Open(f"{bucket}/a/b/c", "w") as file:
        file.write("text")
    with gfile.FastGFile(f"{bucket}/a/b/c") as file:
        assert file.read() == "text"
    gfile.Copy(f"{bucket}/a/b/c", f"{bucket}/a/d")
    gfile.Rename(f"{bucket}/a/d", f"{bucket}/a/e", overwrite=True)
    assert gfile.ListDirectory(f"{bucket}/a") == ["b", "e"]
    assert gfile.Glob(f"{bucket}/a/?") == [f"{bucket}/a/b", f"{bucket}/a/e"]
    assert gfile.Stat(f"{bucket}/a/e").length == 4
    assert [entry[0] for entry in gfile.Walk(bucket)] == [bucket, f"{bucket}/a", f"{bucket}/a/b"]
    gfile.Remove(f"{bucket}/a/e")
    assert not gfile.Exists(f"{bucket}/a/e")
    gfile.DeleteRecursively(f"{bucket}/a")
    assert not gfile.IsDirectory(f"{bucket}/a")


@pytest.mark.parametrize("scheme", ["s3", "obs", "ks3", "cos"])
def test_every_scheme_is_known(tf2: Any, home: object, scheme: str) -> None:
    _write(tf2.io.gfile, f"{scheme}://bucket/{scheme}", scheme)
    assert tf2.io.gfile.GFile(f"obs://bucket/{scheme}").read() == scheme


def _write(gfile: Any, path: str, text: str) -> None:
    with gfile.GFile(path, "w") as file:
        file.write(text)


def _walk(gfile: Any, bucket: str) -> Any:
    return gfile.walk(f"{bucket}/tree")
