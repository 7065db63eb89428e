"""Archives of every kind, good and bad, made in memory."""

import gzip
import io
import tarfile
import zipfile
import zlib
from collections.abc import Mapping


def tar_gz(files: Mapping[str, bytes], *infos: tarfile.TarInfo, form: int | None = None) -> bytes:
    """Pack files, and further members that have no bytes."""
    stream = io.BytesIO()
    form = tarfile.PAX_FORMAT if form is None else form
    with tarfile.open(fileobj=stream, mode="w:gz", format=form) as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        for info in infos:
            archive.addfile(info)
    return stream.getvalue()


def zipped(files: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return stream.getvalue()


def special(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type = kind
    info.linkname = target
    return info


def raw_tar_gz(blocks: bytes) -> bytes:
    return gzip.compress(blocks)


def header(name: str, size: int, kind: bytes = tarfile.REGTYPE) -> bytes:
    """Return one header block that promises ``size`` bytes."""
    info = tarfile.TarInfo(name)
    info.size, info.type = size, kind
    return info.tobuf(tarfile.GNU_FORMAT)


def bomb_tar_gz(size: int) -> bytes:
    """Return a small archive of one file with ``size`` zero bytes."""
    pack = zlib.compressobj(9, zlib.DEFLATED, 31)
    pieces = [pack.compress(header("zeros", size))]
    block = bytes(1 << 20)
    pieces += [pack.compress(block) for _ in range(size >> 20)]
    return b"".join([*pieces, pack.compress(bytes(1024)), pack.flush()])


def bomb_zip(size: int) -> bytes:
    stream = io.BytesIO()
    with (
        zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("zeros", "w", force_zip64=True) as file,
    ):
        for _ in range(size >> 20):
            file.write(bytes(1 << 20))
    return stream.getvalue()
