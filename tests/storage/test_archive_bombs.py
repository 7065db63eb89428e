"""Archives made to fill a disk or a memory are refused while they begin to swell."""

import io
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from tests.storage.sample_archives import bomb_tar_gz, bomb_zip, header, raw_tar_gz, tar_gz, zipped

from danlu.errors import Refused
from danlu.storage import archive
from danlu.storage.archive import ArchiveLimits, check, unpack

MiB = 1 << 20
LIMITS = ArchiveLimits(total=128 * MiB, files=20_000)


@pytest.mark.parametrize("pack", [tar_gz, zipped])
def test_the_biggest_files_are_named(pack: object) -> None:
    assert callable(pack)
    files = {f"data/{size}.bin": bytes(size * 1000) for size in (1, 7, 3, 6, 5, 4, 2)}

    with pytest.raises(Refused) as caught:
        check(io.BytesIO(pack(dict(sorted(files.items())))), ArchiveLimits(total=25_000, files=9))

    assert "unpacks to more than 25.0 kB" in caught.value.message
    assert "data/6.bin (6.0 kB), data/5.bin (5.0 kB)" in caught.value.message
    if pack is zipped:
        assert "data/7.bin (7.0 kB), data/6.bin" in caught.value.message


@pytest.mark.parametrize("pack", [tar_gz, zipped])
def test_too_many_files_are_refused(pack: object) -> None:
    assert callable(pack)
    data = pack({f"{number}": b"" for number in range(11)})

    assert check(io.BytesIO(data), ArchiveLimits(total=1, files=11)).files == 11
    with pytest.raises(Refused, match="more than 10 files and folders"):
        check(io.BytesIO(data), ArchiveLimits(total=1, files=10))


def test_folders_that_are_only_part_of_name_count(tmp_path: Path) -> None:
    data = tar_gz({"/".join(f"{n}{step}" for step in range(50)): b"" for n in range(10)})

    with pytest.raises(Refused, match="more than 100 files and folders"):
        check(io.BytesIO(data), ArchiveLimits(total=1, files=100))


def test_a_file_that_swells_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "SWELL", MiB)

    for data in (bomb_tar_gz(4 * MiB), bomb_zip(4 * MiB)):
        with pytest.raises(Refused, match="'zeros' grows to over 250 times"):
            check(io.BytesIO(data), LIMITS)


def test_regular_data_of_small_archive_is_no_bomb() -> None:
    for data in (bomb_tar_gz(8 * MiB), bomb_zip(8 * MiB)):
        assert check(io.BytesIO(data), LIMITS).bytes == 8 * MiB


def test_file_larger_than_announced_is_cut(tmp_path: Path) -> None:
    data = zipped({"a": bytes(5000)}).replace((5000).to_bytes(4, "little"), b"\x01\0\0\0")
    (tmp_path / "a.zip").write_bytes(data)

    with pytest.raises(Refused, match="cut off or broken"):
        unpack(tmp_path / "a.zip", tmp_path / "to", LIMITS)


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.XGLTYPE])
def test_an_extended_header_cannot_fill_the_memory(kind: bytes) -> None:
    with pytest.raises(Refused, match="extended header that is too long"):
        check(io.BytesIO(raw_tar_gz(header("x", 10 << 30, kind))), LIMITS)


def test_extended_headers_without_end_are_refused() -> None:
    endless = (header("x", 2, tarfile.GNUTYPE_LONGNAME) + b"a\0".ljust(512, b"\0")) * 100

    with pytest.raises(Refused, match="extended header that is too long"):
        check(io.BytesIO(raw_tar_gz(endless)), LIMITS)


def test_headers_that_swell_are_a_bomb_like_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "SWELL", MiB)
    comment = header("g", MiB, tarfile.XGLTYPE) + bytes(MiB)

    with pytest.raises(Refused, match="'a' grows to over 250 times"):
        check(io.BytesIO(raw_tar_gz(comment * 4 + header("a", 0) + bytes(1024))), LIMITS)


def test_an_extended_header_of_tiny_records_is_refused() -> None:
    records = b"5 a=\n" * 200_000
    blocks = header("x", len(records), tarfile.XHDTYPE) + records.ljust(1_000_448, b"\0")

    with pytest.raises(Refused, match="extended header that is too long"):
        check(io.BytesIO(raw_tar_gz(blocks + header("a", 0) + bytes(1024))), LIMITS)


def test_no_bytes_follow_a_folder_whatever_its_size() -> None:
    folder = header("d", 10 << 30, tarfile.DIRTYPE)

    assert check(io.BytesIO(raw_tar_gz(folder + header("d/a", 0) + bytes(1024))), LIMITS).files == 1
    with pytest.raises(Refused, match="after its end"):
        check(io.BytesIO(raw_tar_gz(folder + bytes(3 * MiB))), LIMITS)


def test_directory_of_comments_is_not_read_into_memory() -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as packed:
        for number in range(200):
            info = zipfile.ZipInfo(f"{number}")
            info.comment = b"c" * 60_000
            packed.writestr(info, b"")

    with pytest.raises(Refused, match="its directory has 12,0"):
        check(io.BytesIO(stream.getvalue()), LIMITS)


def test_bytes_after_the_end_are_refused() -> None:
    blocks = header("a", 0) + bytes(1024)

    assert check(io.BytesIO(raw_tar_gz(blocks + bytes(9000))), LIMITS).files == 1
    for more in (header("b", 0), bytes(3 * MiB)):
        with pytest.raises(Refused, match="after its end"):
            check(io.BytesIO(raw_tar_gz(blocks + more)), LIMITS)


def test_a_negative_or_absurd_size_is_refused() -> None:
    absurd = bytearray(header("a", 0))
    absurd[124:136] = b"\xff" * 12
    absurd[148:156] = b" " * 8
    absurd[148:156] = b"%06o\0 " % sum(absurd)

    with pytest.raises(Refused):
        check(io.BytesIO(raw_tar_gz(bytes(absurd) + bytes(1024))), LIMITS)
    with pytest.raises(Refused, match="unpacks to more than"):
        check(io.BytesIO(raw_tar_gz(header("a", 1 << 60))), LIMITS)


MEASURED = """
import resource, sys
from pathlib import Path
from danlu.errors import Refused
from danlu.storage.archive import ArchiveLimits, check, unpack

path, to = Path(sys.argv[1]), Path(sys.argv[2])
limits = ArchiveLimits(total=128 << 20, files=20_000)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for attempt in (lambda: check(open(path, "rb"), limits), lambda: unpack(path, to, limits)):
    try:
        attempt()
    except Refused:
        continue
    sys.exit("it was not refused")
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def million_members() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as packed:
        packed.writestr("a", b"")
    one = stream.getvalue()
    at, end = one.index(b"PK\x01\x02"), one.index(b"PK\x05\x06")
    directory = one[at:end] * 1_000_000
    tail = bytearray(one[end:])
    tail[12:16] = len(directory).to_bytes(4, "little")
    return one[:at] + directory + bytes(tail)


@pytest.mark.parametrize(
    "make", [lambda: bomb_tar_gz(512 * MiB), lambda: bomb_zip(512 * MiB), million_members]
)
def test_memory_and_disk_stay_small(tmp_path: Path, make: object) -> None:
    assert callable(make)
    (tmp_path / "bomb").write_bytes(make())

    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", MEASURED, tmp_path / "bomb", tmp_path / "to"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 50 * 1024, "kilobytes"
    assert os.listdir(tmp_path) == ["bomb"]
