"""Detection of the data of a preset model: pictures or TFRecord files, split or not."""

import copy
import os
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from danlu.job import presets
from moxing.framework import file
from moxing.tensorflow.datasets import labels
from moxing.tensorflow.datasets.places import is_hidden, is_image, joined, matching
from moxing.tensorflow.datasets.raw.folders import ImageClassificationRawMetadata
from moxing.tensorflow.datasets.tfrecord.metadata import ImageClassificationTFRecordMetadata
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
    """The data of a preset model; ``evaluate`` is None if none was set aside."""

    train: Part
    evaluate: Part | None
    num_classes: int
    labels: tuple[str, ...]


def find(asked: Asked) -> Data:
    """Return the data at ``data_url``, from its folders ``train`` and ``eval`` or split here.

    Raises:
        ValueError: there is no data, or its parts do not match.
    """
    folder = asked.data_url
    if not file.is_directory(folder):
        raise ValueError(f"--data_url={folder} is not a folder; give the one with the data.")
    places = _places(folder)
    records = {split: _records(place) for split, place in places.items()}
    if any(records.values()):
        return of_records(asked, places, records)

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


Files = list[tuple[str, int]]


def of_pictures(asked: Asked, places: dict[str, str]) -> Data:
    """Return the pictures of two folders, or those of one folder, split."""
    if asked.evaluates:
        return _to_evaluate(asked, places.get(EVAL, places[TRAIN]))
    every = ImageClassificationRawMetadata(places[TRAIN])
    if every.num_classes == 1:
        raise ValueError(_one_class(every))
    if EVAL in places:
        own = ImageClassificationRawMetadata(places[EVAL])
        train, rest = every, _renumbered(own, every.labels_list, every.base_dir)
    else:
        train, rest = _cut(every, presets.shares(asked["split_spec"]) or {})
    # In the manual, samples_per_epoch counts the whole data set before it is split.
    given = asked["samples_per_epoch"]
    share = train.total_num_samples / every.total_num_samples
    samples = max(1, round(given * share)) if given else train.total_num_samples
    number = asked["samples_per_epoch_eval"] or rest.total_num_samples
    return Data(
        train=Part(train, samples),
        evaluate=Part(rest, number) if rest.files else None,
        num_classes=every.num_classes,
        labels=tuple(every.labels_list),
    )


def _one_class(every: ImageClassificationRawMetadata) -> str:
    """Return the error message for data with a single class.

    A network of one class is right in every step and learns nothing.
    """
    (name,) = every.labels_list
    inside = every.classes_inside()
    cure = (
        f"It has directories of its own ({', '.join(inside[:5])}): if they are the classes, give "
        f"the directory {name} as the data."
        if inside
        else "Put the pictures of each class into a directory of its own."
    )
    return f"All pictures are of one class, {name}: a network has nothing to distinguish. {cure}"


def _to_evaluate(asked: Asked, folder: str) -> Data:
    """Return all pictures, with the class numbers of the training if they are known."""
    own = ImageClassificationRawMetadata(folder)
    beside = asked.checkpoint_url.rstrip("/")
    if not file.is_directory(beside):
        beside = os.path.dirname(beside)
    if file.exists(f"{beside}/labels.txt"):
        own = _renumbered(own, labels.read(f"{beside}/labels.txt"), beside)
    number = asked["samples_per_epoch_eval"] or asked["samples_per_epoch"] or own.total_num_samples
    part = Part(own, number)
    return Data(part, part, own.num_classes, tuple(own.labels_list))


def _renumbered(own: Any, names: Sequence[str], of: str) -> Any:
    """Return pictures with the class numbers of the training; a class may be missing.

    Raises:
        ValueError: there are classes that the training does not have.
    """
    unknown = sorted(set(own.labels_list) - set(names))
    if unknown:
        raise ValueError(f"{own.base_dir} has classes that {of} has not: {', '.join(unknown)}.")
    files = [(path, names.index(own.labels_list[label])) for path, label in own.files]
    other = _with_files(own, files)
    other.labels_list = list(names)
    return other


def _cut(every: Any, shares: dict[str, float]) -> tuple[Any, Any]:
    """Split each class by the shares; the same files always give the same split."""
    train: Files = []
    rest: Files = []
    for number, name in enumerate(every.labels_list):
        files = [each for each in every.files if each[1] == number]
        random.Random(name).shuffle(files)
        end = max(1, round(shares[TRAIN] * len(files)))
        train += files[:end]
        rest += files[end : round(sum(shares.values()) * len(files))]
    tf.logging.info(
        "The data is split: %d samples to train on, %d to evaluate on.", len(train), len(rest)
    )
    return _with_files(every, train), _with_files(every, rest)


def _with_files(metadata: Any, files: Files) -> Any:
    other = copy.copy(metadata)
    other.files, other.total_num_samples = files, len(files)
    return other


_WORD = r"(?<![a-z]){}(?![a-z])"

Names = dict[str, list[str]]


def of_records(asked: Asked, places: dict[str, str], names: Names) -> Data:
    """Return the records of two folders, or of files that their names distinguish."""
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
    """Divide files by words in their names, as the converters of TF-slim write them."""
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
