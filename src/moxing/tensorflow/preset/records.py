"""TFRecord files as the data of a preset model."""

import re
from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.framework import file
from moxing.tensorflow.datasets import labels
from moxing.tensorflow.datasets.places import joined
from moxing.tensorflow.datasets.tfrecord.metadata import ImageClassificationTFRecordMetadata
from moxing.tensorflow.preset.arguments import Asked
from moxing.tensorflow.preset.data import EVAL, EVALS, TRAIN, Data, Part

_WORD = r"(?<![a-z]){}(?![a-z])"

Names = dict[str, list[str]]


def of_records(asked: Asked, places: dict[str, str], names: Names) -> Data:
    """Return the records of two folders, or of files that are told apart by their names."""
    empty = [place for split, place in places.items() if not names[split]]
    if empty:
        raise ValueError(f"There are TFRecord files in {asked.data_url}, but none in {empty[0]}.")
    if EVAL not in places:
        names = _by_name(names[TRAIN])
        places = dict.fromkeys(names, places[TRAIN])
    if EVAL not in places and "split_spec" in asked.given:
        raise ValueError(
            "--split_spec splits folders of pictures. Put TFRecord files into train and eval, or "
            "have these words in their names."
        )
    parts = {split: _part(asked, place, names[split], split) for split, place in places.items()}
    train = parts[TRAIN].metadata
    if not train.num_classes:
        raise ValueError(
            "How many classes there are is not known: give --num_classes=…, or put a labels.txt "
            f"into {asked.data_url}."
        )
    evaluate = parts.get(EVAL, parts[TRAIN] if asked.evaluates else None)
    return Data(parts[TRAIN], evaluate, train.num_classes, tuple(train.labels_list))


def _by_name(names: Sequence[str]) -> Names:
    """Tell files apart by words in their names, as the converters of slim write them."""
    rest = [name for name in names if any(re.search(_WORD.format(w), name.lower()) for w in EVALS)]
    train = [name for name in names if name not in rest]
    if train and rest:
        return {TRAIN: train, EVAL: rest}
    tf.logging.info("No TFRecord file is set aside to evaluate on: all of them are one data set.")
    return {TRAIN: list(names)}


def _part(asked: Asked, folder: str, names: Sequence[str], split: str) -> Part:
    key = "samples_per_epoch" if split == TRAIN else "samples_per_epoch_eval"
    metadata: Any = ImageClassificationTFRecordMetadata(
        *(folder, [_literal(name) for name in names]),
        num_samples=asked[key],
        num_classes=asked["num_classes"] or 0,
    )
    beside = joined(asked.data_url, "labels.txt")
    if not metadata.labels_list and file.exists(beside):
        metadata.labels_list = labels.read(beside)
        metadata.num_classes = metadata.num_classes or len(metadata.labels_list)
    return Part(metadata, metadata.total_num_samples, records=True)


def _literal(name: str) -> str:
    """Return a pattern that matches this name only."""
    return re.sub(r"([*?[])", r"[\1]", name)
