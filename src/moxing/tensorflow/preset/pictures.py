"""Folders of pictures as the data of a preset model."""

import copy
import os
import random
from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from danlu.job import presets
from moxing.framework import file
from moxing.tensorflow.datasets import labels
from moxing.tensorflow.datasets.raw.folders import ImageClassificationRawMetadata
from moxing.tensorflow.preset.arguments import Asked
from moxing.tensorflow.preset.data import EVAL, TRAIN, Data, Part

Files = list[tuple[str, int]]


def of_pictures(asked: Asked, places: dict[str, str]) -> Data:
    """Return the pictures of two folders, or those of one, split."""
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
    # The manual counts a data set that is not split as a whole.
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
    """A network of one class is right in every step, and has learnt nothing."""
    (name,) = every.labels_list
    inside = every.classes_inside()
    cure = (
        f"It has directories of its own ({', '.join(inside[:5])}): if they are the classes, give "
        f"the directory {name} as the data."
        if inside
        else "Put the pictures of each class into a directory of its own."
    )
    return f"All pictures are of one class, {name}: there is nothing to tell apart. {cure}"


def _to_evaluate(asked: Asked, folder: str) -> Data:
    """Return all pictures, with the numbers the model was trained with where it knows them."""
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
    """Return pictures with the numbers that training has; a class may be missing."""
    strangers = sorted(set(own.labels_list) - set(names))
    if strangers:
        raise ValueError(f"{own.base_dir} has classes that {of} has not: {', '.join(strangers)}.")
    files = [(path, names.index(own.labels_list[label])) for path, label in own.files]
    other = _with_files(own, files)
    other.labels_list = list(names)
    return other


def _cut(every: Any, shares: dict[str, float]) -> tuple[Any, Any]:
    """Split each class by its shares, the same files always the same way."""
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
