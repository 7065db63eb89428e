"""Archives made to do harm, at every place where one is read: refused by a sentence, no trace."""

import asyncio
import hashlib
import io
import os
import stat
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from raw_requests import as_json, send
from sample_requests import ALGORITHM, request_of
from tests.storage.sample_archives import (
    bomb_tar_gz,
    bomb_zip,
    header,
    raw_tar_gz,
    special,
    tar_gz,
    zipped,
)

from danlu.cli.code import Code, read_code
from danlu.errors import DanluError
from danlu.storage.archive import ArchiveLimits
from danlu.storage.cache import ContentCache
from danlu.storage.folders import remove_tree
from danlu.storage.locate import Stores, code_uri

JSON = (("content-type", "application/json"),)
MiB = 1 << 20
GOOD = {"train.py": b"print(1)"}


def zip_of(name: str, mode: int, data: bytes = b"/etc/passwd") -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as packed:
        packed.writestr("train.py", b"")
        info = zipfile.ZipInfo(name)
        info.external_attr = mode << 16
        packed.writestr(info, data)
    return stream.getvalue()


def nested(levels: int) -> bytes:
    """An archive in an archive in an archive: only the outermost is ever opened."""
    inner = bomb_zip(8 * MiB)
    for _ in range(levels):
        inner = zipped({"inner.zip": inner, "more.tar.gz": bomb_tar_gz(8 * MiB)})
    return inner


HARMFUL = {
    "bomb.tar.gz": lambda: bomb_tar_gz(8 * MiB),
    "bomb.zip": lambda: bomb_zip(8 * MiB),
    "many.tar.gz": lambda: tar_gz({**GOOD, **{f"{n}/x": b"" for n in range(600)}}),
    "many.zip": lambda: zipped({**GOOD, **{f"{n}": b"" for n in range(600)}}),
    "deep.tar.gz": lambda: tar_gz({**GOOD, "a/" * 200 + "x": b""}),
    "symbolic.tar.gz": lambda: tar_gz(GOOD, special("x", tarfile.SYMTYPE, "/etc/passwd")),
    "symbolic-inside.tar.gz": lambda: tar_gz(GOOD, special("x", tarfile.SYMTYPE, "train.py")),
    "symbolic-chain.tar.gz": lambda: tar_gz(
        GOOD, special("d", tarfile.SYMTYPE, ".."), special("d/e", tarfile.SYMTYPE, "..")
    ),
    "symbolic.zip": lambda: zip_of("x", stat.S_IFLNK | 0o777),
    "hard.tar.gz": lambda: tar_gz(GOOD, special("x", tarfile.LNKTYPE, "../../../token")),
    "hard-inside.tar.gz": lambda: tar_gz(GOOD, special("x", tarfile.LNKTYPE, "train.py")),
    "device.tar.gz": lambda: tar_gz(GOOD, special("x", tarfile.CHRTYPE)),
    "block.tar.gz": lambda: tar_gz(GOOD, special("x", tarfile.BLKTYPE)),
    "pipe.tar.gz": lambda: tar_gz(GOOD, special("x", tarfile.FIFOTYPE)),
    "device.zip": lambda: zip_of("x", stat.S_IFCHR | 0o666),
    "sparse.tar.gz": lambda: raw_tar_gz(header("x", 1 << 50, tarfile.GNUTYPE_SPARSE)),
    "absolute.tar.gz": lambda: tar_gz({**GOOD, "/tmp/danlu-escape": b"x"}),
    "absolute.zip": lambda: zipped({**GOOD, "/tmp/danlu-escape": b"x"}),
    "climbing.tar.gz": lambda: tar_gz({**GOOD, "a/../../../escape": b"x"}),
    "climbing.zip": lambda: zipped({**GOOD, "../escape": b"x"}),
    "windows.zip": lambda: zip_of("..\\..\\escape", 0).replace(b"\x14\x03", b"\x14\x00"),
    "twice.tar.gz": lambda: tar_gz(GOOD) and raw_tar_gz(
        header("train.py", 0) + header("train.py", 0) + bytes(1024)
    ),
    "below-a-file.tar.gz": lambda: tar_gz({**GOOD, "train.py/x": b"x"}),
    "headers.tar.gz": lambda: raw_tar_gz(header("x", 10 << 30, tarfile.XHDTYPE)),
    "cut.tar.gz": lambda: tar_gz({**GOOD, "x": os.urandom(9000)})[:-2000],
    "empty.tar.gz": lambda: b"",
    "text.zip": lambda: b"PK but no archive",
}  # fmt: skip
HARMLESS = {
    # Two files on this disk; no job is unpacked on a disk that ignores case.
    "case.tar.gz": lambda: tar_gz({**GOOD, "Model.py": b"1", "model.py": b"2"}),
    "setuid.tar.gz": lambda: _setuid(),
    "nested.zip": lambda: zipped({**GOOD, "inner.zip": nested(3)}),
}


def _setuid() -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        info = tarfile.TarInfo("train.py")
        info.size, info.mode, info.uid = 5, 0o6777, 12345
        archive.addfile(info, io.BytesIO(b"print"))
    return stream.getvalue()


@pytest.fixture
def cache(tmp_path: Path):
    yield ContentCache(tmp_path / "cache", limit=1 << 30)
    remove_tree(tmp_path / "cache")


def answered(app, *request, body: bytes, headers=()) -> str:
    """Return the sentence of a refusal."""
    status, answer = asyncio.run(send(app, *request, body=body, headers=headers))
    assert 400 <= status < 500, answer
    return answer.decode()


@pytest.mark.parametrize("name", HARMFUL)
def test_an_upload_that_means_harm_is_refused(app, settings, treasure, name):
    data = HARMFUL[name]()
    treasure.look()

    reported = answered(app, "PUT", f"/v1/code/{hashlib.sha256(data).hexdigest()}", body=data)

    assert "archive" in reported
    assert treasure.changes() == []
    assert os.listdir(settings.store / "code") == ["readme.txt"]


@pytest.mark.parametrize("name", HARMFUL)
def test_code_in_bucket_that_means_harm_is_refused(app, put, treasure, name):
    uri = f"obs://bucket/packed/{name}"
    put(uri, HARMFUL[name]())
    treasure.look()
    asked = {**request_of("modelarts"), "code": uri, "inputs": {}, "from_environment": []}
    defined = {"name": "algo", "definition": {**ALGORITHM, "code": uri}}

    for path, body in (("/v1/plan", {"request": asked}), ("/v1/algorithms", defined)):
        reported = answered(app, "POST", path, body=as_json(body), headers=JSON)
        assert "code: " in reported
        assert "rchive" in reported

    assert treasure.changes() == []


@pytest.mark.parametrize("name", HARMFUL)
def test_an_agent_unpacks_nothing_that_means_harm(cache, settings, treasure, name):
    data = HARMFUL[name]()
    location = Stores.of(settings).at(code_uri(hashlib.sha256(data).hexdigest()))
    location.storage.write(location.key, data)
    treasure.look()

    with pytest.raises(DanluError, match="rchive"):
        cache.archive(location, "job", ArchiveLimits(2 * MiB, 500))

    assert _files(cache.root) == []
    cache_changes = [path for path in treasure.changes() if str(cache.root) not in path]
    assert cache_changes == []


@pytest.mark.parametrize("name", HARMFUL)
def test_command_line_looks_into_nothing_that_means_harm(tmp_path, name):
    (tmp_path / name).write_bytes(HARMFUL[name]())
    if name.startswith(("bomb", "many", "nested")):
        return  # within what one may have at home: seen, and refused when it is sent

    seen = read_code(Code(str(tmp_path / name), "", packed=True))

    assert not seen.names  # unlike those of an archive that is in order, below
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("name", HARMLESS)
def test_harmless_archive_members_become_ordinary_files(cache, settings, treasure, name):
    data = HARMLESS[name]()
    location = Stores.of(settings).at(code_uri(hashlib.sha256(data).hexdigest()))
    location.storage.write(location.key, data)

    tree = cache.archive(location, "job", ArchiveLimits(2 * MiB, 500))

    files = _files(tree.path)
    assert "train.py" in {path.name for path in files}
    for path in files:
        found = path.lstat()
        assert stat.S_ISREG(found.st_mode)
        assert stat.S_IMODE(found.st_mode) in (0o444, 0o555)
        assert found.st_uid == os.geteuid()


@pytest.mark.parametrize("pack", [tar_gz, zipped])
def test_command_line_looks_into_what_is_in_order(tmp_path, pack):
    name = {tar_gz: "code.tar.gz", zipped: "code.zip"}[pack]
    (tmp_path / name).write_bytes(pack(GOOD))

    seen = read_code(Code(str(tmp_path / name), "", packed=True))

    assert seen.texts == {"train.py": "print(1)"}


MEASURED = """
import resource, sys
from pathlib import Path
from danlu.cli.code import Code
from danlu.cli.code import read_code

before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
read_code(Code(sys.argv[1], "", packed=True))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def pax_bomb(size: int) -> bytes:
    """An extended header of ``size`` bytes: tarfile itself would read it into memory."""
    import zlib

    pack = zlib.compressobj(1, zlib.DEFLATED, 31)
    pieces = [pack.compress(header("x", size, tarfile.XHDTYPE))]
    pieces += [pack.compress(bytes(MiB)) for _ in range(size >> 20)]
    return b"".join([*pieces, pack.flush()])


def test_the_memory_of_the_command_line_stays_small(tmp_path):
    (tmp_path / "bomb.tar.gz").write_bytes(pax_bomb(256 * MiB))

    done = subprocess.run(
        [sys.executable, "-c", MEASURED, tmp_path / "bomb.tar.gz"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 50 * 1024, "kilobytes"


def _files(folder: Path) -> list[Path]:
    return [Path(at, name) for at, _, names in os.walk(folder) for name in names]
