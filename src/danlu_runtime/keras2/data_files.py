"""Serves ``keras.datasets.*.load_data()`` and ``get_file`` from inputs, the cache or the web.

Notebook scripts download their data. A job has it in an input, or may have no network access.
Hashes are compared and a difference is noted, but the existing file is used.
"""

import contextlib
import functools
import gzip
import importlib
import os
import shutil
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from danlu.errors import UserError
from danlu.messages import get_message
from danlu_runtime.reports import notes

INPUTS = "DANLU_INPUTS"  # folders of the job's inputs, one per line
_CHANNELS = ("SM_CHANNEL_", "TM_CHANNEL_")
_SECONDS = 20.0  # timeout of each read, in seconds
_DATASETS = ("boston_housing", "cifar10", "cifar100", "fashion_mnist", "imdb", "mnist", "reuters")


class DataFileMissing(FileNotFoundError, UserError):
    """A file that a script wants to download was not found anywhere."""

    def __init__(self, message: str) -> None:
        UserError.__init__(self, message)

    def __str__(self) -> str:
        return self.message


def serve() -> None:
    """Replace ``get_file`` of tf-keras in every module that has it."""
    from tf_keras.src.utils import data_utils

    get_file = _serving(data_utils.get_file)
    names = [f"tf_keras.src.datasets.{name}" for name in _DATASETS]
    for name in (*names, "tf_keras.api._v1.keras.utils", "tf_keras.api._v2.keras.utils"):
        module: Any = importlib.import_module(name)
        module.get_file = get_file
    data_utils.get_file = get_file


def _serving(download: Callable[..., str]) -> Callable[..., str]:
    @functools.wraps(download)
    def get_file(
        fname: Any = None,
        origin: str | None = None,
        untar: bool = False,
        md5_hash: str | None = None,
        file_hash: str | None = None,
        cache_subdir: str = "datasets",
        hash_algorithm: str = "auto",
        extract: bool = False,
        archive_format: str = "auto",
        cache_dir: str | None = None,
    ) -> str:
        if not fname:  # named after its URL, unpacked as tf-keras decides
            fname = os.path.basename(origin or "")
        wanted, cache = str(fname), Path(_cache(cache_dir), cache_subdir)
        if file_hash is None and md5_hash is not None:
            file_hash, hash_algorithm = md5_hash, "md5"
        found = _find(wanted, origin or "", cache, untar)
        if found is not None:
            _compare(found, file_hash, hash_algorithm)
            return _given(found, wanted, cache, archive_format, untar=untar, extract=extract)
        return _downloaded(
            lambda: download(
                wanted,
                origin,
                untar=untar,
                file_hash=file_hash,
                cache_subdir=cache_subdir,
                hash_algorithm=hash_algorithm,
                extract=extract,
                archive_format=archive_format,
                cache_dir=_cache(cache_dir),
            ),
            *(wanted, origin or "", cache, untar),
        )

    return get_file


def _cache(cache_dir: str | None) -> str:
    home = os.environ.get("KERAS_HOME") or os.path.join(os.path.expanduser("~"), ".keras")
    return os.path.expanduser(cache_dir or home)


def input_folders() -> list[str]:
    """Return the folders of the job's inputs without duplicates."""
    folders = os.environ.get(INPUTS, "").splitlines()
    folders += [value for name, value in sorted(os.environ.items()) if name.startswith(_CHANNELS)]
    return [folder for folder in dict.fromkeys(folders) if folder and os.path.isdir(folder)]


def _names(wanted: str, origin: str, untar: bool) -> list[str]:
    """Return possible names of the file, the most likely first."""
    name, remote = os.path.basename(wanted), os.path.basename(origin.partition("?")[0])
    packed = [f"{name}.tar.gz", f"{name}.tgz", remote] if untar else [remote]
    plain = [name.removesuffix(".gz")] if name.endswith("-ubyte.gz") else []
    return [one for one in dict.fromkeys((name, *packed, *plain)) if one]


def _find(wanted: str, origin: str, cache: Path, untar: bool) -> Path | None:
    whole = Path(wanted).expanduser()
    if whole.is_absolute():
        return whole if whole.exists() else None
    for folder in (*_places(cache), cache):
        for name in (wanted, *_names(wanted, origin, untar)):
            path = Path(folder, name)
            if path.exists() and (untar or path.is_file()):
                return path
    return None


def _places(cache: Path) -> Iterator[Path]:
    """Yield the inputs, their subfolders, and in each the name of the cache folder."""
    for folder in map(Path, input_folders()):
        inner = sorted(entry for entry in folder.iterdir() if entry.is_dir())
        yield from (folder, folder / "datasets", folder / cache.name, *inner)


def _given(
    found: Path, wanted: str, cache: Path, archive_format: str, *, untar: bool, extract: bool
) -> str:
    from tf_keras.src.utils.data_utils import _extract_archive

    if found.is_dir():
        return str(found)
    if found.name == os.path.basename(wanted).removesuffix(".gz") and wanted.endswith(".gz"):
        return _packed(found, cache)  # Keras opens it with gzip
    if untar or extract:
        cache.mkdir(parents=True, exist_ok=True)
        folder = cache / os.path.basename(wanted).removesuffix(".tar.gz")
        if not (untar and folder.exists()):
            _extract_archive(str(found), str(cache), "tar" if untar else archive_format)
        return str(folder) if untar else str(found)
    return str(found)


def _packed(found: Path, cache: Path) -> str:
    cache.mkdir(parents=True, exist_ok=True)
    packed = cache / f"{found.name}.gz"
    with found.open("rb") as source, gzip.open(packed, "wb", compresslevel=1) as target:
        shutil.copyfileobj(source, target)
    return str(packed)


def _compare(found: Path, file_hash: str | None, algorithm: str) -> None:
    from tf_keras.src.utils.data_utils import validate_file

    if file_hash and found.is_file() and not validate_file(str(found), file_hash, algorithm):
        notes.note("mapped", get_message("keras.other_file", found=found))


def _downloaded(
    download: Callable[[], str], wanted: str, origin: str, cache: Path, untar: bool
) -> str:
    with contextlib.suppress(OSError):  # tf-keras uses /tmp if the cache does not exist
        cache.mkdir(parents=True, exist_ok=True)
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(_SECONDS)
    try:
        return download()
    except Exception as error:
        # tf-keras 2.21 raises a plain Exception if a URL cannot be read.
        if type(error) is not Exception and not isinstance(error, OSError):
            raise
        raise DataFileMissing(_sentence(wanted, origin, cache, untar, error)) from error
    finally:
        socket.setdefaulttimeout(before)


def _sentence(wanted: str, origin: str, cache: Path, untar: bool, error: Exception) -> str:
    name = _names(wanted, origin, untar)[-1 if untar else 0]
    folders = ", ".join([*input_folders(), str(cache)])
    reason = str(error).replace(f"URL fetch failure on {origin}: ", "")
    # A job has its own empty home directory. Only outside a job can the user fill the cache.
    cure = get_message("keras.put_input")
    if "DANLU_BOX" not in os.environ:
        cure = get_message("keras.put_cache", cache=cache / name, origin=origin)
    address = origin or get_message("keras.no_address")
    values = {"name": name, "folders": folders, "origin": address, "reason": reason, "fix": cure}
    return get_message("keras.no_data_file", **values)
