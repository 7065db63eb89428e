"""Metadata of TFRecord files, and the counting of their records."""

import contextlib
import json
import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import cached_property
from typing import Any, Protocol

import tensorflow.compat.v1 as tf

from moxing.framework import file
from moxing.tensorflow.datasets import labels, places

_HEAD, _TAIL = 12, 4
# In an object store, reading on is faster than a new request for data this near.
_LOCAL, _REMOTE = 1 << 16, 1 << 22


class _Source(Protocol):
    def seek(self, offset: int, whence: int = 0, /) -> Any: ...
    def read(self, size: int = -1, /) -> bytes: ...


def count(path: str) -> int:
    """Return the number of records in a file, local or in a store.

    Raises:
        ValueError: it is not a TFRecord file, or it is truncated.
    """
    size = file.stat(path).length
    if places.is_remote(path):
        with file.File(path, "rb") as source:
            return _count(source, size, _REMOTE, path)
    with open(path.removeprefix("file://"), "rb", buffering=0) as source:
        return _count(source, size, _LOCAL, path)


def _count(source: _Source, size: int, window: int, path: str) -> int:
    records = position = begin = 0
    held = b""
    while position < size:
        at = position - begin
        if at + _HEAD > len(held):
            source.seek(position)
            begin, held, at = position, _filled(source, min(window, size - position)), 0
        length = int.from_bytes(held[at : at + 8], "little")
        position += _HEAD + length + _TAIL
        if len(held) - at < _HEAD or position > size:
            raise ValueError(_fault(path, records, size))
        records += 1
    return records


def _filled(source: _Source, size: int) -> bytes:
    """Read ``size`` bytes, or up to the end, in as many reads as necessary."""
    parts: list[bytes] = []
    while size > 0 and (part := source.read(size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _fault(path: str, records: int, size: int) -> str:
    if records == 0:
        return (
            f"{path} is not a TFRecord file (or it is a compressed one: unpack it first); "
            "write a file_pattern that leaves it out."
        )
    return f"{path} is cut off: what follows its record {records} is none; it has {size} bytes."


def modified(path: str) -> tuple[int, int]:
    """Return size and time of a file; while both are unchanged, so is its record count."""
    if places.is_remote(path):
        found = file.stat(path)
        return found.length, found.mtime_nsec
    plain = os.stat(path.removeprefix("file://"))
    return plain.st_size, plain.st_mtime_ns


MEMORY = ".moxing_num_samples.json"
_WORTH_KEEPING = 1.0  # seconds; a faster count is not stored
_LOG_INTERVAL = 5.0
_READERS = 16

# For each file its size, its time and its number of records.
Known = dict[str, list[int]]


def num_samples(folder: str, names: Sequence[str], *, worth: float = _WORTH_KEEPING) -> int:
    """Return the total number of records of files in a folder.

    Counts that are stored in the folder are reused for unchanged files. The counts are stored if
    counting took at least ``worth`` seconds.
    """
    tf.logging.info(
        "Automatically extracting num_samples from tfrecord. If the dataset is large, it may take "
        "some time. You can also manually specify the num_samples to Dataset to save time."
    )
    known = _remembered(folder)
    began = time.monotonic()
    with ThreadPoolExecutor(_READERS) as pool:
        waiting = {pool.submit(_look, folder, name, known.get(name)): name for name in names}
        total, logged = 0, began
        for done, future in enumerate(as_completed(waiting), 1):
            known[waiting[future]] = future.result()
            total += known[waiting[future]][2]
            if time.monotonic() - logged > _LOG_INTERVAL:
                logged = time.monotonic()
                tf.logging.info("Counted %d samples in %d of %d files", total, done, len(names))
    if time.monotonic() - began >= worth:
        _remember(folder, known)
    return total


def _look(folder: str, name: str, known: list[int] | None) -> list[int]:
    path = places.joined(folder, name)
    size, time_ns = modified(path)
    if known and known[:2] == [size, time_ns]:
        return known
    return [size, time_ns, count(path)]


def _remembered(folder: str) -> Known:
    with contextlib.suppress(OSError, ValueError):
        found = json.loads(file.read(places.joined(folder, MEMORY)))
        pairs = found.items() if isinstance(found, dict) else ()
        return {
            name: entry
            for name, entry in pairs
            if isinstance(entry, list)
            and len(entry) == 3
            and all(isinstance(n, int) for n in entry)
        }
    return {}


def _remember(folder: str, known: Known) -> None:
    with contextlib.suppress(OSError):  # a read-only folder is counted each time
        file.write(places.joined(folder, MEMORY), json.dumps(known))


class BaseTFRecordMetadata:
    """Files of a folder by a pattern, such as ``*.tfrecord``, or several.

    ``num_samples`` is counted when it is first asked for, unless it is given. ``redirect_dir`` is
    another folder with the same files, from which they are read. ``file_patterns`` is the same as
    ``file_pattern``: the documents write both.

    Raises:
        ValueError: no file matches.
    """

    def __init__(
        self,
        base_dir: str,
        file_pattern: str | Sequence[str] | None = None,
        num_samples: int | None = None,
        redirect_dir: str | None = None,
        *,
        file_patterns: str | Sequence[str] | None = None,
    ) -> None:
        self.base_dir = places.needed(base_dir)
        self.redirect_dir = redirect_dir
        self.file_pattern = file_pattern if file_pattern is not None else file_patterns
        if not self.file_pattern:
            raise ValueError(
                "file_pattern must be a pattern of the files to read, such as '*.tfrecord'."
            )
        if num_samples is not None and (not isinstance(num_samples, int) or num_samples < 1):
            raise ValueError(
                f"num_samples must be at least 1, or None to count them, got {num_samples!r}."
            )
        self._num_samples = num_samples
        self.names = places.matching(self.base_dir, self.file_pattern)
        if not self.names:
            raise ValueError(
                f"No file in {self.base_dir!r} matches {self.file_pattern!r}; "
                f"{places.what_is_in(self.base_dir)}."
            )
        tf.logging.info("Find tfrecord files. Using tfrecord files in this job.")
        tf.logging.info("Total %d files found in %s", len(self.names), self.base_dir)

    @cached_property
    def total_num_samples(self) -> int:
        if self._num_samples is not None:
            return self._num_samples
        counted = num_samples(self.base_dir, self.names)
        tf.logging.info("Total number of samples is %d", counted)
        return counted

    @property
    def num_samples(self) -> int:
        return self.total_num_samples

    @property
    def read_dir(self) -> str:
        """The folder the files are read from."""
        return self.redirect_dir or self.base_dir

    @property
    def files(self) -> list[str]:
        """The files as they are read, sorted by name."""
        return [places.joined(self.read_dir, name) for name in self.names]

    def __str__(self) -> str:
        return f"{self.base_dir}, {self.file_pattern}"


class ImageClassificationTFRecordMetadata(BaseTFRecordMetadata):
    """TFRecord files of images; ``labels.txt`` beside them gives names to the classes.

    ``num_classes`` is the number of names where it is not given.
    """

    def __init__(
        self,
        base_dir: str,
        file_pattern: str | Sequence[str] | None = None,
        num_samples: int | None = None,
        redirect_dir: str | None = None,
        num_classes: int = 0,
        label_map_file: str = "labels.txt",
        **aliases: Any,
    ) -> None:
        super().__init__(base_dir, file_pattern, num_samples, redirect_dir, **aliases)
        path = places.joined(self.base_dir, label_map_file) if label_map_file else ""
        self.labels_list = labels.read(path) if path and file.exists(path) else []
        if self.labels_list:
            labels.log(self.labels_list)
        self.num_classes = num_classes or len(self.labels_list)
        if self.labels_list and num_classes and num_classes < len(self.labels_list):
            raise ValueError(
                f"num_classes is {num_classes}, and {path} has {len(self.labels_list)} labels."
            )

    @property
    def labels_to_names(self) -> dict[int, str] | None:
        """Number → name; None where there is no ``labels.txt``."""
        return dict(enumerate(self.labels_list)) or None

    @property
    def names_to_labels(self) -> dict[str, int] | None:
        return {name: number for number, name in enumerate(self.labels_list)} or None


class MultilabelClassificationTFRecordMetadata(ImageClassificationTFRecordMetadata):
    """TFRecord files of images with several labels each; the number of classes must be known.

    Raises:
        ValueError: there is neither ``num_classes`` nor a ``labels.txt``.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not self.num_classes:
            raise ValueError(
                f"How many classes there are is not known: pass num_classes, or put a labels.txt "
                f"into {self.base_dir!r}."
            )
