"""Several processes share a cache; any of them may be killed at any moment."""

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from danlu.storage.cache import ContentCache
from danlu.storage.folders import remove_tree
from danlu.storage.locate import Stores

URI = "obs://bucket/data"
SIZES = [0, 1, 300_000, 1 << 20, (1 << 20) + 1, 2_500_000]

FETCHER = """
import os, signal, sys
from pathlib import Path
from danlu.storage.cache import ContentCache
from danlu.storage.locate import Stores

home, owner, die_at, wait = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]

def progress(done, total):
    if 0 <= die_at <= done:
        os.kill(os.getpid(), signal.SIGKILL)

if wait:
    print("ready", flush=True)
    sys.stdin.read()
cache = ContentCache(home / "cache", 1 << 30)
tree = cache.tree(Stores(home / "store").at("obs://bucket/data"), owner, progress)
print(tree.hit)
"""

KILLED_ANYWHERE = """
import os, signal, sys
from pathlib import Path
from danlu.storage.cache import ContentCache
from danlu.storage.locate import Stores

home, left = Path(sys.argv[1]), int(sys.argv[2])

def count(event, args):
    global left
    if event in ("open", "os.rename", "os.mkdir", "os.remove", "os.chmod", "os.rmdir", "os.utime"):
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

cache = ContentCache(home / "cache", 0)
location = Stores(home / "store").at("obs://bucket/small")
sys.addaudithook(count)
cache.tree(location, "victim")
cache.unpin("victim")
cache.evict()
"""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    storage = Stores(tmp_path / "store").at(URI).storage
    noise = random.Random(5)
    for number, size in enumerate(SIZES):
        storage.write(f"data/d{number % 2}/{number}", noise.randbytes(size))
    storage.write("data/empty/", b"")
    for number in range(3):
        storage.write(f"small/{number}", b"x" * number)
    yield tmp_path
    remove_tree(tmp_path / "cache")


def fetcher(home: Path, owner: str, die_at: int = -1, wait: str = "") -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", FETCHER, str(home), owner, str(die_at), wait],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def assert_whole(home: Path, path: Path) -> None:
    storage = Stores(home / "store").at(URI).storage
    for entry in storage.list("data/"):
        target = path / entry.key.removeprefix("data/")
        if entry.key.endswith("/"):
            assert target.is_dir()
        else:
            assert target.read_bytes() == storage.read(entry.key)


@pytest.mark.parametrize("die_at", [0, 1, 300_001, 1 << 20, 2_000_000, sum(SIZES)])
def test_fetch_killed_midway_is_resumed_and_whole(home: Path, die_at: int) -> None:
    victim = fetcher(home, "victim", die_at)
    victim.communicate(timeout=60)
    trees = home / "cache" / "trees"
    assert victim.returncode == -signal.SIGKILL
    assert all(name.startswith(".part-") for name in os.listdir(trees))

    cache = ContentCache(home / "cache", 1 << 30)
    tree = cache.tree(Stores(home / "store").at(URI), "heir")

    assert not tree.hit
    assert_whole(home, tree.path)
    assert os.listdir(trees) == [tree.digest]


def test_what_killed_fetch_left_waits_day_for_next(home: Path) -> None:
    fetcher(home, "victim", 400_000).communicate(timeout=60)
    cache = ContentCache(home / "cache", 1 << 30)
    (part,) = (home / "cache" / "trees").iterdir()

    cache.evict()
    assert part.is_dir()
    for folder in (part, *part.iterdir()):
        os.utime(folder, (0, 0))
    cache.evict()

    assert not part.exists()


def test_half_tree_is_evicted_first(home: Path) -> None:
    fetcher(home, "victim", 400_000).communicate(timeout=60)
    cache = ContentCache(home / "cache", 1 << 30)

    assert cache.evict(0) > 300_000
    assert os.listdir(home / "cache" / "trees") == []


def test_running_fetch_is_not_left_over(home: Path) -> None:
    cache = ContentCache(home / "cache", 1 << 30)

    def progress(done: int, total: int) -> None:
        ContentCache(home / "cache", 0).evict()

    tree = cache.tree(Stores(home / "store").at(URI), "job", progress)

    assert_whole(home, tree.path)


def test_processes_that_want_the_same_fetch_it_once(home: Path) -> None:
    fetchers = [fetcher(home, f"job-{number}", wait="wait") for number in range(4)]
    for process in fetchers:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"

    hits = []
    for process in fetchers:
        assert process.stdin is not None
        process.stdin.close()
    for process in fetchers:
        assert process.stdout is not None
        hits.append(process.stdout.read().strip())
        process.stdout.close()
        assert process.wait(60) == 0

    assert sorted(hits) == ["False", "True", "True", "True"]
    (digest,) = os.listdir(home / "cache" / "trees")
    assert_whole(home, home / "cache" / "trees" / digest)
    assert ContentCache(home / "cache", 0).evict() == 0, "all four have pinned it"


def test_killed_fetcher_does_not_block_waiting_processes(home: Path) -> None:
    victim = fetcher(home, "victim", 1 << 20)
    heir = fetcher(home, "heir")

    victim.communicate(timeout=60)
    reported, _ = heir.communicate(timeout=60)

    assert reported.strip() in ("False", "True")
    assert heir.returncode == 0


@pytest.mark.parametrize("step", [*range(0, 75, 3)])
def test_killed_at_any_step_of_fetching_and_evicting(home: Path, step: int) -> None:
    """Each step is a change to the disk: whatever was the last one, the next process is well."""
    subprocess.run([sys.executable, "-c", KILLED_ANYWHERE, home, str(step)], check=False)

    cache = ContentCache(home / "cache", 0)
    tree = cache.tree(Stores(home / "store").at("obs://bucket/small"), "heir")

    assert {path.name: path.read_bytes() for path in tree.path.iterdir()} == {
        "0": b"",
        "1": b"x",
        "2": b"xx",
    }
    for owner in cache.owners():
        cache.unpin(owner)
    cache.evict()
    assert os.listdir(home / "cache" / "trees") == []
    assert [name for name in os.listdir(home / "cache" / "info") if name.endswith(".json")] == []
