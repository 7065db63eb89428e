"""No key names a path outside, and every key of a bucket comes back as it was."""

import os
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from danlu.errors import Refused, StorageError
from danlu.storage.local import FileStorage
from danlu.storage.names import BucketNames, PlainNames, is_name, temporary

PIECES = (
    *("..", ".", "", "/", "//", "\\", "%2f", "%2e", "%252e", ";", "\0", "~", "a", "b", "%", "%o"),
    *("%-", "%+", "%25", "etc", "passwd", "\n", " ", "中", "x" * 210, "file:", "://", "C:"),
    *(".danlu-tmp-", "0123456789ab", "\u202e", "\ud800", "\udce4"),
)
KEYS = st.builds(
    str.join, st.sampled_from(("", "/")), st.lists(st.sampled_from(PIECES), max_size=8)
)
OFTEN = settings(max_examples=1000, deadline=None, database=None)


@OFTEN
@given(KEYS)
def test_bucket_key_has_safe_steps_and_comes_back(key: str) -> None:
    names = BucketNames()
    steps = names.split(key)
    if steps is None:
        assert not key or len(key.encode("utf-8", "surrogatepass")) > 1024 or not encodes(key)
        return

    assert all(is_name(step) for step in steps)
    folder: str | None = None
    for step in steps:
        folder = names.join(folder, step)
    assert folder == key


@OFTEN
@given(KEYS)
def test_a_plain_key_has_safe_steps_or_none(key: str) -> None:
    steps = PlainNames().split(key)

    assert steps is None or (all(is_name(step) for step in steps) and "/".join(steps) == key)


@OFTEN
@given(KEYS, KEYS)
def test_two_keys_never_share_a_path(one: str, other: str) -> None:
    names = BucketNames()

    same = names.split(one) is not None and names.split(one) == names.split(other)

    assert same == (one == other and names.split(one) is not None)


@pytest.mark.parametrize("plain", [True, False])
def test_no_key_reads_writes_or_lists_outside(tmp_path: Path, plain: bool) -> None:
    (tmp_path / "canary").write_text("untouched")
    (tmp_path / "root-sibling").mkdir()
    storage = FileStorage(tmp_path / "root", plain=plain)
    chance = random.Random(20)

    for _ in range(500):
        key = chance.choice(("", "/")).join(chance.choices(PIECES, k=chance.randint(0, 8)))
        try:
            storage.write(key, b"")
            assert storage.read(key) == b"" or key.endswith("/") or not key
            assert storage.stat(key) is not None
        except Refused:
            assert storage.read(key) is None
            assert storage.stat(key) is None
        except StorageError:
            assert plain, "only folders of users cannot hold both 'a' and 'a/b'"
        assert all(entry.key.startswith(key) for entry in storage.list(key))
        if chance.random() < 0.5:
            storage.delete(key)

    assert sorted(os.listdir(tmp_path)) == ["canary", "root", "root-sibling"]
    assert (tmp_path / "canary").read_text() == "untouched"
    assert os.listdir(tmp_path / "root-sibling") == []


def test_the_names_of_unfinished_files_are_not_keys() -> None:
    name = temporary("0123456789ab")

    assert PlainNames().split(f"a/{name}") is None
    assert BucketNames().split(f"a/{name}") == ["a", "%2E" + name[1:]]


def encodes(key: str) -> bool:
    try:
        key.encode()
    except UnicodeEncodeError:
        return False
    return True
