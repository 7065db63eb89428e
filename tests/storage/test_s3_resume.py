"""An upload of a killed process is resumed by a process that knows that it is dead."""

import subprocess
import sys
from pathlib import Path

import pytest

from contracts.s3_server import SmallS3, Unfinished, endpoint
from contracts.storage import Broken
from danlu.errors import StorageError
from danlu.storage.s3.storage import S3Storage
from danlu.storage.s3.upload import PART, lock_upload_record
from seaweed import Seaweed
from small_s3 import BIG

WRITER = """
import io, sys
from pathlib import Path
from danlu.settings import Endpoint, Secret
from danlu.storage.s3.storage import S3Storage
from small_s3 import BIG

class Halfway(io.BytesIO):
    def read(self, size=-1):
        if self.tell() > 4 << 23:
            print("halfway", flush=True)
            sys.stdin.read()
        return super().read(size)

url, access, secret, bucket, notes = sys.argv[1:]
place = Endpoint(url, access_key=Secret(access), secret_key=Secret(secret))
S3Storage(place, bucket, notes=Path(notes)).write("out/model", Halfway(BIG))
"""


@pytest.fixture
def storage(url: str, tmp_path: Path) -> S3Storage:
    return S3Storage(endpoint(url), "bucket", notes=tmp_path / "notes")


def killed(service: SmallS3, storage: S3Storage, folder: Path, data: bytes, count: int) -> None:
    """Leave what a writer leaves that was killed when ``count`` parts were sent."""
    sent = {n + 1: data[n * PART : (n + 1) * PART] for n in range(count)}
    service.uploads["left"] = Unfinished("a", sent)
    with lock_upload_record(
        folder / "notes", "\0".join((storage._bucket.host, "bucket", "a"))
    ) as note:
        assert note is not None
        note.write("left")


def sent(service: SmallS3) -> list[int]:
    """Return the numbers of the parts that were sent, and forget them."""
    numbers = [int(r.query["partNumber"]) for r in service.requests if "partNumber" in r.query]
    service.requests.clear()
    return sorted(numbers)


@pytest.mark.parametrize("page", [2, 1000])
def test_parts_that_are_there_are_not_sent_again(
    service: SmallS3, storage: S3Storage, tmp_path: Path, page: int
) -> None:
    service.page = page
    killed(service, storage, tmp_path, BIG, 3)

    entry = storage.write("a", BIG)

    assert sent(service) == [4, 5, 6]
    assert service.buckets["bucket"]["a"].data == BIG
    assert storage.stat("a") == entry
    assert service.uploads == {}
    assert list((tmp_path / "notes").iterdir()) == []


def test_parts_of_other_bytes_are_sent_again(
    service: SmallS3, storage: S3Storage, tmp_path: Path
) -> None:
    killed(service, storage, tmp_path, BIG[:PART] + b"x" + BIG[PART + 1 :], 3)

    storage.write("a", BIG)

    assert sent(service) == [2, 4, 5, 6]
    assert service.buckets["bucket"]["a"].data == BIG


def test_an_upload_that_is_no_more_begins_anew(
    service: SmallS3, storage: S3Storage, tmp_path: Path
) -> None:
    killed(service, storage, tmp_path, BIG, 3)
    service.uploads.clear()

    storage.write("a", BIG)

    assert sent(service) == [1, 2, 3, 4, 5, 6]
    assert service.buckets["bucket"]["a"].data == BIG


def test_an_upload_whose_writer_lives_is_left_alone(
    service: SmallS3, storage: S3Storage, tmp_path: Path
) -> None:
    service.begun = "2099-01-01T00:00:00.000Z"
    killed(service, storage, tmp_path, BIG, 3)

    with lock_upload_record(tmp_path / "notes", "\0".join((storage._bucket.host, "bucket", "a"))):
        storage.write("a", BIG)

    assert sent(service) == [1, 2, 3, 4, 5, 6]
    assert set(service.uploads) == {"left"}


def test_what_fails_is_taken_back_with_its_note(
    service: SmallS3, storage: S3Storage, tmp_path: Path
) -> None:
    with pytest.raises((StorageError, RuntimeError)):
        storage.write("a", Broken(BIG))

    assert service.uploads == {}
    assert list((tmp_path / "notes").iterdir()) == []


def test_unusable_record_folder_costs_only_resuming(
    service: SmallS3, url: str, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way")

    S3Storage(endpoint(url), "bucket", notes=tmp_path / "file" / "notes").write("a", BIG)

    assert service.buckets["bucket"]["a"].data == BIG


def test_real_service_continues_with_what_killed_writer_sent(
    seaweed: Seaweed, tmp_path: Path
) -> None:
    seaweed.bucket("resumed")
    place = seaweed.endpoint
    notes = tmp_path / "notes"
    keys = (str(place.access_key), str(place.secret_key))
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, place.endpoint, *keys, "resumed", str(notes)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[1],
    )
    assert writer.stdout is not None
    assert writer.stdin is not None
    assert writer.stdout.readline() == b"halfway\n"
    writer.kill()
    writer.wait()
    writer.stdout.close()
    writer.stdin.close()
    storage = S3Storage(place, "resumed", notes=notes)
    assert storage.unfinished("", 0) == ["out/model"]

    entry = storage.write("out/model", BIG)

    assert storage.stat("out/model") == entry
    assert storage.read("out/model") == BIG
    assert storage.unfinished("", 0) == []
