"""What a job may leave in a bucket it can write to as to a folder: no server falls over it."""

import asyncio
import os
import shutil
import socket
import threading
from pathlib import Path

import pytest
from canary_files import CANARY
from raw_requests import as_json, send
from sample_requests import request_of

from danlu.agent.context import remove_scratch
from danlu.agent.reports.progress import find_event_files
from danlu.job.plan import Push
from danlu.storage.folders import walk, walk_up
from danlu.storage.locate import Stores

JSON = (("content-type", "application/json"),)
TEMPORARY = ".danlu-tmp-0123456789ab"


@pytest.fixture
def bucket(tidy, put, settings, treasure) -> Path:
    put("obs://bucket/code/train.py", b"print(1)")
    return settings.store / "buckets" / "bucket"


def dig(folder: Path, depth: int, name: str = "d") -> None:
    """Make folders in each other, deeper than any path may be long."""
    folder.mkdir(parents=True, exist_ok=True)
    at = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=at)
        inner = os.open(name, os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = inner
    os.close(at)


def deep(folder: Path, settings) -> None:
    dig(folder, 1100)


def very_deep(folder: Path, settings) -> None:
    dig(folder, 2500)


def pipe(folder: Path, settings) -> None:
    folder.mkdir(parents=True)
    os.mkfifo(folder / "data.csv")
    os.mkfifo(folder / TEMPORARY)
    os.utime(folder / TEMPORARY, (0, 0))


def device_node(folder: Path, settings) -> None:
    folder.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as listener:
        before = os.open(".", os.O_RDONLY)
        os.chdir(folder)
        listener.bind("socket")
        os.fchdir(before)
        os.close(before)


def link_out(folder: Path, settings) -> None:
    folder.mkdir(parents=True)
    (folder / "token").symlink_to(settings.home / "token")
    (folder / "home").symlink_to(settings.home)


def link_to_the_root(folder: Path, settings) -> None:
    folder.symlink_to("/")


def ring(folder: Path, settings) -> None:
    folder.mkdir(parents=True)
    (folder / "ring").symlink_to(".")


def unusual_names(folder: Path, settings) -> None:
    folder.mkdir(parents=True)
    for name in (b"\xff\xfe", b"new\nline", b"%", b"%2", b"%-", b"%+x", b"a%o", b" ", b"\x1b[2J"):
        Path(os.fsdecode(os.path.join(os.fsencode(folder), name))).write_text("x")


TRAPS = [
    deep,
    pytest.param(very_deep, marks=pytest.mark.long),
    pipe,
    device_node,
    link_out,
    link_to_the_root,
    ring,
    unusual_names,
]


@pytest.mark.parametrize("trap", TRAPS)
def test_server_plans_lists_and_starts_whatever_lies_there(app, bucket, settings, trap):
    trap(bucket / "trap", settings)
    asked = request_of("modelarts")
    requests = [
        ("/v1/plan", {"request": {**asked, "inputs": {}, "from_environment": []}}),
        ("/v1/plan", {"request": {**asked, "inputs": {"data_url": "obs://bucket/trap"}}}),
        ("/v1/plan", {"request": {**asked, "outputs": {"train_url": "obs://bucket/trap/out"}}}),
        ("/v1/plan", {"request": {**asked, "code": "obs://bucket/trap"}}),
        ("/v1/datasets", {"name": "data", "definition": {"uri": "obs://bucket/trap"}}),
        ("/v1/algorithms", {"name": "a", "definition": {"code": "obs://bucket/trap"}}),
    ]

    async def scene():
        return [
            await send(app, "POST", path, headers=JSON, body=as_json(b)) for path, b in requests
        ]

    answers = asyncio.run(scene())
    assert answers[0][0] == 200, answers[0]  # it has nothing to do with the trap
    for status, answer in answers:
        assert status < 500 or status == 503, answer
        assert CANARY.encode() not in answer
    Stores.of(settings).sweep()  # as every server does first
    assert (settings.home / "token").read_text() == CANARY
    remove_scratch(bucket)
    assert not bucket.exists()


def test_sweep_does_not_block_on_a_pipe(bucket, settings):
    pipe(bucket / "trap", settings)
    done = threading.Thread(target=Stores.of(settings).sweep, daemon=True)

    done.start()
    done.join(100)

    assert not done.is_alive()


def test_event_files_are_looked_for_not_too_deep(tidy):
    dig(tidy / "out", 1100)
    (tidy / "out" / "events.out.tfevents.1").write_text("")

    found = find_event_files({Push("/out", "obs://b/out", "out"): tidy / "out"})

    assert [run for run, _ in found] == ["."]


def test_walking_gives_what_os_walk_gives(tmp_path):
    for name in ("a/b/c", "a/d", "e"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    (tmp_path / "ring").symlink_to(tmp_path)

    def known(steps):
        return [(path, sorted(folders), sorted(files)) for path, folders, files in steps]

    assert sorted(known(walk(tmp_path))) == sorted(known(os.walk(tmp_path)))
    places = [path for path, _, _ in walk_up(tmp_path)]
    assert places[-1] == str(tmp_path)
    assert all(places.index(path) < places.index(os.path.dirname(path)) for path in places[:-1])
    assert len(list(walk(tmp_path, deepest=1))) == 3
    shutil.rmtree(tmp_path / "a")
