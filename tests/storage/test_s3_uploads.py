"""Large objects in parts: complete or absent, and nothing left behind."""

import os
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest

from contracts.s3_server import Reply, Request, Reset, SmallS3, Unfinished, error
from contracts.storage import Broken
from danlu.errors import StorageError
from danlu.storage.s3.storage import S3Storage
from seaweed import Seaweed
from small_s3 import BIG

WRITER = """
import io, sys
from danlu.settings import Endpoint, Secret
from danlu.storage.s3.storage import S3Storage

class Halfway(io.RawIOBase):
    parts = 0

    def read(self, size=-1):
        self.parts += 1
        if self.parts == 5:
            print("halfway", flush=True)
            sys.stdin.read()
        return b"x" * size

url, access, secret, bucket = sys.argv[1:]
place = Endpoint(url, access_key=Secret(access), secret_key=Secret(secret))
S3Storage(place, bucket).write("out/model", Halfway())
"""


def test_killed_writer_leaves_only_parts(
    seaweed: Seaweed,
) -> None:
    storage = seaweed.bucket("killed")
    place = seaweed.endpoint
    keys = (str(place.access_key), str(place.secret_key))
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, place.endpoint, *keys, "killed"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert writer.stdout is not None
    assert writer.stdin is not None
    assert writer.stdout.readline() == b"halfway\n"
    writer.kill()
    writer.wait()
    writer.stdout.close()
    writer.stdin.close()

    assert storage.stat("out/model") is None
    assert storage.read("out/model") is None
    assert storage.sweep("other/", older=0) == 0
    assert storage.sweep("out/") == 0  # it may be alive: a day has not passed
    assert storage.sweep("out/", older=0) == 1
    assert storage.sweep("out/", older=0) == 0
    entry = storage.write("out/model", BIG)
    assert storage.stat("out/model") == entry
    assert storage.read("out/model") == BIG
    assert storage.sweep(older=0) == 0


def test_writer_killed_over_old_object_leaves_that_one(
    service: SmallS3, storage: S3Storage, url: str
) -> None:
    storage.write("out/model", b"old")
    writer: list[subprocess.Popen[bytes]] = []

    def kill(request: Request) -> Reply | None:
        if request.query.get("partNumber") == "3" and writer:
            os.kill(writer.pop().pid, signal.SIGKILL)
            raise Reset
        return None

    service.faults = [kill]
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, url, "danlu-full", "danlu-full-secret", "bucket"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    writer.append(process)
    assert process.wait() == -signal.SIGKILL

    assert storage.read("out/model") == b"old"
    assert len(service.uploads) == 1
    storage.write("out/model", BIG)  # the next writer finds what began long ago
    assert service.uploads == {}
    assert storage.read("out/model") == BIG


@pytest.mark.parametrize(
    ("hours", "left"),
    [
        (0.9, ["out/model", "out/other", "elsewhere/model"]),
        (1.1, ["out/other", "elsewhere/model"]),
        (25, ["elsewhere/model"]),
        (None, ["out/model", "out/other", "elsewhere/model"]),
    ],
)
def test_upload_removes_dead_uploads_beside_it(
    service: SmallS3, storage: S3Storage, hours: float | None, left: list[str]
) -> None:
    keys = ("out/model", "out/other", "elsewhere/model")
    service.uploads = {key: Unfinished(key, {}) for key in keys}
    service.begun = "some time ago"
    if hours is not None:
        service.begun = (datetime.now(UTC) - timedelta(hours=hours)).isoformat()

    storage.write("out/model", BIG)

    assert [upload.key for upload in service.uploads.values()] == left


def test_a_source_that_breaks_takes_its_upload_back(service: SmallS3, storage: S3Storage) -> None:
    with pytest.raises(RuntimeError, match="the source is gone"):
        storage.write("model", Broken(BIG))

    assert service.buckets["bucket"] == {}
    assert service.uploads == {}


def test_a_part_that_is_refused_ends_the_upload(service: SmallS3, storage: S3Storage) -> None:
    def refuse(request: Request) -> Reply | None:
        return error(400, "EntityTooLarge") if request.query.get("partNumber") == "2" else None

    service.faults = [refuse]

    with pytest.raises(
        StorageError, match="rejected the request for 'model' in bucket 'bucket': 400 EntityToo"
    ):
        storage.write("model", BIG)
    assert service.buckets["bucket"] == {}
    assert service.uploads == {}


@pytest.mark.parametrize("size", [0, (8 << 20) - 1, 8 << 20, (8 << 20) + 1, 16 << 20])
def test_sizes_around_that_of_a_part(service: SmallS3, storage: S3Storage, size: int) -> None:
    entry = storage.write("a", BIG[:size])

    assert entry.size == size
    assert service.buckets["bucket"]["a"].data == BIG[:size]
    assert entry.etag.endswith("-2") == (size > 8 << 20)


def test_large_object_is_copied_in_parts(
    service: SmallS3, storage: S3Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("danlu.storage.s3.upload.LARGEST_COPY", 1 << 20)
    monkeypatch.setattr("danlu.storage.s3.upload.COPIED", 3 << 20)
    storage.write("a b", BIG)

    entry = storage.copy("a b", "c")

    assert storage.stat("c") == entry
    assert service.buckets["bucket"]["c"].data == BIG
