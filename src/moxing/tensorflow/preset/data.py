"""The data of a preset model, found by looking: pictures or TFRecord files, split or not."""

from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.framework import file
from moxing.tensorflow.datasets.places import is_hidden, is_image, joined, matching
from moxing.tensorflow.preset.arguments import Asked

TRAIN, EVAL = "train", "eval"
EVALS = (EVAL, "validation", "val", "test")
_RECORDS = ("*.tfrecord", "*.tfrecords", "*.tfrecord-*", "*-of-*")


@dataclass(frozen=True)
class Part:
    """Samples to train or to evaluate on."""

    metadata: Any
    samples: int
    records: bool = False


@dataclass(frozen=True)
class Data:
    """``evaluate`` is None where nothing was set aside."""

    train: Part
    evaluate: Part | None
    num_classes: int
    labels: tuple[str, ...]


def find(asked: Asked) -> Data:
    """Return what lies at ``data_url``: below ``train`` and ``eval``, or split here.

    Raises:
        ValueError: there is no data, or it does not fit together.
    """
    folder = asked.data_url
    if not file.is_directory(folder):
        raise ValueError(f"--data_url={folder} is not a folder; give the one with the data.")
    places = _places(folder)
    records = {split: _records(place) for split, place in places.items()}
    if any(records.values()):
        from moxing.tensorflow.preset.records import of_records

        tf.logging.info("Find tfrecord files. Using tfrecord files in this job.")
        return of_records(asked, places, records)
    from moxing.tensorflow.preset.pictures import of_pictures

    tf.logging.info("No tfrecord file is found. Raw data will be used in this job.")
    return of_pictures(asked, places)


def _places(folder: str) -> dict[str, str]:
    """Return the folder of each part; a folder that is not split is all of TRAIN."""
    inside = joined(folder, TRAIN)
    # A class may be called train: then its pictures lie in it directly.
    if not file.is_directory(inside) or not (_folders(inside) or _records(inside)):
        return {TRAIN: folder}
    there = [place for name in EVALS if file.is_directory(place := joined(folder, name))]
    return {TRAIN: inside, EVAL: there[0]} if there else {TRAIN: inside}


def _folders(folder: str) -> list[str]:
    names = file.list_directory(folder, skip_file=True)
    return [name for name in names if not is_hidden(name.rstrip("/"))]


def _records(folder: str) -> list[str]:
    return [name for name in matching(folder, _RECORDS) if not is_image(name)]
