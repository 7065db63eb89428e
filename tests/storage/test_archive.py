"""Archives from people we do not know: what is unpacked, and what is refused and why."""

import io
import os
import random
import re
import stat
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from tests.storage.sample_archives import header, raw_tar_gz, special, tar_gz, zipped

from danlu.errors import Refused
from danlu.storage.archive import ArchiveLimits, Summary, check, unpack

LIMITS = ArchiveLimits(total=1 << 20, files=100)
FILES = {"train.py": b"print()", "pkg/__init__.py": b"", "pkg/数据.txt": b"x" * 3000}
PACKERS: Mapping[str, Callable[[Mapping[str, bytes]], bytes]] = {"tar": tar_gz, "zip": zipped}


@pytest.fixture(params=PACKERS)
def pack(request: pytest.FixtureRequest) -> Callable[[Mapping[str, bytes]], bytes]:
    return PACKERS[request.param]


def unpacked(data: bytes, folder: Path, limits: ArchiveLimits = LIMITS) -> Summary:
    """Check and unpack; both must agree."""
    (folder / "archive").write_bytes(data)
    try:
        checked = check(io.BytesIO(data), limits)
    except Refused as refused:
        with pytest.raises(Refused, match=re.escape(refused.message)):
            unpack(folder / "archive", folder / "to", limits)
        assert os.listdir(folder) == ["archive"], "a refused archive leaves nothing behind"
        raise
    assert unpack(folder / "archive", folder / "to", limits) == checked
    return checked


def tree(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_files_come_out_as_they_went_in(
    tmp_path: Path, pack: Callable[[Mapping[str, bytes]], bytes]
) -> None:
    summary = unpacked(pack(FILES), tmp_path)

    assert tree(tmp_path / "to") == FILES
    assert summary.files == 3
    assert summary.bytes == 3007
    assert summary.biggest[0] == ("pkg/数据.txt", 3000)
    assert summary.names == set(FILES)


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_every_format_of_tar_is_read(tmp_path: Path, form: int) -> None:
    long = "d" * 90 + "/" + "f" * 95
    folder = special("./empty/", tarfile.DIRTYPE)

    unpacked(tar_gz({f"./{long}": b"x" * 513, "./b": b"y"}, folder, form=form), tmp_path)

    assert tree(tmp_path / "to") == {long: b"x" * 513, "b": b"y"}
    assert (tmp_path / "to" / "empty").is_dir()


@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_very_long_and_chinese_names(tmp_path: Path, form: int) -> None:
    name = "/".join(["目录" * 20] * 3 + ["文件.py"])

    unpacked(tar_gz({name: b"x"}, form=form), tmp_path)

    assert tree(tmp_path / "to") == {name: b"x"}


def test_only_executable_bit_of_modes_is_kept(tmp_path: Path) -> None:
    run, secret = tarfile.TarInfo("run.sh"), tarfile.TarInfo("plain")
    run.mode, secret.mode = 0o6777, 0o000
    folder = special("folder", tarfile.DIRTYPE)
    folder.mode = 0o1000

    unpacked(tar_gz({}, run, secret, folder), tmp_path)

    modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in (tmp_path / "to").iterdir()}
    assert modes["run.sh"] & 0o7111 == 0o111
    assert modes["plain"] & 0o7711 == 0o600
    assert modes["folder"] & 0o700 == 0o700


def test_the_executable_bit_of_a_zip_is_kept(tmp_path: Path) -> None:
    info = zipfile.ZipInfo("run.sh")
    info.external_attr = (stat.S_IFREG | 0o4755) << 16
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(info, b"")
        archive.writestr("folder/", b"")

    unpacked(stream.getvalue(), tmp_path)

    assert stat.S_IMODE((tmp_path / "to" / "run.sh").stat().st_mode) & 0o7111 == 0o111
    assert (tmp_path / "to" / "folder").is_dir()


def test_a_zip_of_chinese_windows_has_its_names(tmp_path: Path) -> None:
    """Such archives hold GBK, often with its own separator, without declaring it."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name in ("name-of-11b", "name-of-12by"):
            info = zipfile.ZipInfo(name)
            info.create_system = 0
            archive.writestr(info, b"x")
    data = stream.getvalue()
    data = data.replace(b"name-of-11b", "训练\\jia.py".encode("gbk"))
    data = data.replace(b"name-of-12by", "训练集数据啊".encode("gbk"))

    assert unpacked(data, tmp_path).names == {"训练/jia.py", "训练集数据啊"}


def test_a_tar_of_chinese_windows_has_its_names(tmp_path: Path) -> None:
    blocks = bytearray(header("placeholder.py", 0))
    name = "训练代码.py".encode("gbk").ljust(14, b"_")[:14]
    blocks[:14] = name
    blocks[148:156] = b" " * 8
    blocks[148:156] = b"%06o\0 " % sum(blocks)

    summary = unpacked(raw_tar_gz(bytes(blocks) + bytes(1024)), tmp_path)

    assert summary.names == {name.decode("gbk")}


BAD_NAMES = ["/etc/passwd", "../x", "a/../../x", "a/..", "..", "x" * 300, "a/" * 101 + "b"]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_bad_name_is_refused_and_reported(
    tmp_path: Path, name: str, pack: Callable[[Mapping[str, bytes]], bytes]
) -> None:
    with pytest.raises(Refused, match="The archive is refused: its member"):
        unpacked(pack({"ok": b"", name: b"attack"}), tmp_path)


def test_a_nul_in_a_name_is_refused(tmp_path: Path) -> None:
    data = zipped({"safe.pyX.txt": b""}).replace(b"safe.pyX", b"safe.py\0")

    with pytest.raises(Refused, match="no disk can hold"):
        unpacked(data, tmp_path)


def test_backslashes_of_windows_cannot_climb_out(tmp_path: Path) -> None:
    data = bytearray(zipped({"..XX..Xa": b""}).replace(b"..XX..Xa", b"..\\\\..\\a"))
    at = data.index(b"PK\x01\x02")
    data[at + 5] = 0  # made on Windows

    with pytest.raises(Refused, match=r"'\.\.'"):
        unpacked(bytes(data), tmp_path)


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        (tarfile.SYMTYPE, "symbolic link"),
        (tarfile.LNKTYPE, "hard link"),
        (tarfile.CHRTYPE, "device"),
        (tarfile.BLKTYPE, "device"),
        (tarfile.FIFOTYPE, "pipe"),
        (tarfile.GNUTYPE_SPARSE, "sparse"),
        (b"V", "unknown kind"),
    ],
)
def test_links_and_devices_are_refused_by_name(tmp_path: Path, kind: bytes, word: str) -> None:
    with pytest.raises(Refused, match=f"'odd/one' is .*{word}"):
        unpacked(tar_gz({"a": b""}, special("odd/one", kind, "/etc/passwd")), tmp_path)


@pytest.mark.parametrize("mode", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFSOCK])
def test_links_and_devices_in_a_zip_are_refused(tmp_path: Path, mode: int) -> None:
    info = zipfile.ZipInfo("odd")
    info.external_attr = (mode | 0o777) << 16
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(info, b"/etc/passwd")

    with pytest.raises(Refused, match="'odd' is a"):
        unpacked(stream.getvalue(), tmp_path)


@pytest.mark.parametrize(
    ("method", "word"), [(zipfile.ZIP_BZIP2, "method 12"), (zipfile.ZIP_LZMA, "method 14")]
)
def test_other_ways_to_pack_a_zip_are_refused(tmp_path: Path, method: int, word: str) -> None:
    with pytest.raises(Refused, match=word):
        unpacked(zipped({"a": b"x"}, method), tmp_path)


def test_an_encrypted_zip_is_refused(tmp_path: Path) -> None:
    data = bytearray(zipped({"a": b"x"}))
    data[data.index(b"PK\x01\x02") + 8] |= 1

    with pytest.raises(Refused, match="'a' is encrypted"):
        unpacked(bytes(data), tmp_path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    ("first", "second"), [("a", "a"), ("a", "./a"), ("a", "a/b"), ("a/b", "a"), ("a/b", "a//b")]
)
def test_two_members_for_one_place_are_refused(tmp_path: Path, first: str, second: str) -> None:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name in (first, second):
            archive.addfile(tarfile.TarInfo(name))

    with pytest.raises(Refused, match=r"is in it twice|below a file"):
        unpacked(stream.getvalue(), tmp_path)


def test_a_folder_may_be_named_again(tmp_path: Path) -> None:
    again = special("pkg", tarfile.DIRTYPE)

    assert unpacked(tar_gz({"pkg/a": b""}, again, again), tmp_path).files == 1


@pytest.mark.parametrize("kind", PACKERS)
@pytest.mark.parametrize("seed", range(60))
def test_a_cut_archive_is_refused_with_the_reason(tmp_path: Path, kind: str, seed: int) -> None:
    noise = random.Random(1).randbytes(20_000)
    data = PACKERS[kind]({"a": noise, "b": b"x" * 4000, "c": noise[:700]})
    cut = len(data) - 1 - seed if seed < 20 else (len(data) - 20) * (seed - 20) // 40

    with pytest.raises(Refused) as caught:
        unpacked(data[:cut], tmp_path)

    assert "cut off or broken" in caught.value.message or "neither" in caught.value.message


@pytest.mark.parametrize("blocks", range(8))
def test_tar_cut_before_it_was_packed_is_refused(tmp_path: Path, blocks: int) -> None:
    """The compressed stream is whole; ``tarfile`` would take some of these for whole too."""
    whole = header("a", 700) + b"x" * 1024 + header("b", 512) + b"y" * 512 + bytes(1024)
    unpacked(raw_tar_gz(whole), tmp_path)
    (tmp_path / "cut").mkdir()

    if blocks < 5:
        with pytest.raises(Refused, match="cut off or broken"):
            unpacked(raw_tar_gz(whole[: 512 * blocks]), tmp_path / "cut")
    with pytest.raises(Refused, match="cut off or broken"):
        unpacked(raw_tar_gz(whole[: 512 * min(blocks, 4) + 100]), tmp_path / "cut")


@pytest.mark.parametrize("kind", PACKERS)
def test_a_damaged_archive_is_refused_or_the_same(tmp_path: Path, kind: str) -> None:
    """One byte changed, a thousand times: never another error, never other bytes."""
    good = PACKERS[kind](FILES)
    chance = random.Random(3)
    refused = 0
    for _ in range(1000):
        data = bytearray(good)
        data[chance.randrange(len(data))] = chance.randrange(256)
        try:
            summary = check(io.BytesIO(bytes(data)), LIMITS)
        except Refused:
            refused += 1
        else:
            assert summary.bytes == 3007
    assert refused > 500


@pytest.mark.parametrize("data", [b"", b"P", b"#!/bin/sh", b"\x1f", b"PK", b"\x1f\x8b", b"BZh91AY"])
def test_what_is_no_archive_is_reported(data: bytes) -> None:
    with pytest.raises(Refused, match=r"neither \.tar\.gz nor \.zip|cut off or broken"):
        check(io.BytesIO(data), LIMITS)


def test_stream_that_cannot_be_moved_is_read_too() -> None:
    class Stream(io.BytesIO):
        def seekable(self) -> bool:
            return False

        def seek(self, *_: object) -> int:
            raise io.UnsupportedOperation

    for packer in PACKERS.values():
        assert check(Stream(packer(FILES)), LIMITS).files == 3


def test_the_target_must_be_free(tmp_path: Path) -> None:
    (tmp_path / "to").mkdir()
    assert unpacked(tar_gz({"a": b""}), tmp_path).files == 1

    with pytest.raises(Refused, match="cannot be replaced"):
        unpack(tmp_path / "archive", tmp_path / "to", LIMITS)

    assert sorted(os.listdir(tmp_path)) == ["archive", "to"]
