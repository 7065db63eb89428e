"""The number of samples of TFRecord files, counted in parallel and remembered.

Counting on slow storage took so long that jobs seemed to hang (manual, pitfall 3-4-1): it says how
far it is, and what took long is kept beside the data, where the next run finds it.
"""

import contextlib
import json
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

import tensorflow.compat.v1 as tf

from moxing.framework import file
from moxing.tensorflow.datasets import places
from moxing.tensorflow.datasets.tfrecord import framing

MEMORY = ".moxing_num_samples.json"
_WORTH_KEEPING = 1.0  # seconds: what takes less is counted anew
_SAY_EVERY = 5.0
_READERS = 16

# For each file its size, its time and its number of records.
Known = dict[str, list[int]]


def num_samples(folder: str, names: Sequence[str], *, worth: float = _WORTH_KEEPING) -> int:
    """Return how many records files of a folder have in all; told lengths are not read again."""
    tf.logging.info(
        "Automatically extracting num_samples from tfrecord. If the dataset is large, it may take "
        "some time. You can also manually specify the num_samples to Dataset to save time."
    )
    known = _remembered(folder)
    began = time.monotonic()
    with ThreadPoolExecutor(_READERS) as pool:
        waiting = {pool.submit(_look, folder, name, known.get(name)): name for name in names}
        total, said = 0, began
        for done, future in enumerate(as_completed(waiting), 1):
            known[waiting[future]] = future.result()
            total += known[waiting[future]][2]
            if time.monotonic() - said > _SAY_EVERY:
                said = time.monotonic()
                tf.logging.info("Counted %d samples in %d of %d files", total, done, len(names))
    if time.monotonic() - began >= worth:
        _remember(folder, known)
    return total


def _look(folder: str, name: str, known: list[int] | None) -> list[int]:
    path = places.joined(folder, name)
    size, time_ns = framing.modified(path)
    if known and known[:2] == [size, time_ns]:
        return known
    return [size, time_ns, framing.count(path)]


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
    with contextlib.suppress(OSError):  # data that may not be written to is counted each time
        file.write(places.joined(folder, MEMORY), json.dumps(known))
