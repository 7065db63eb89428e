"""What TFRecord files hold."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.framework import file
from moxing.tensorflow.datasets import labels, places
from moxing.tensorflow.datasets.tfrecord import counting


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
            raise ValueError("file_pattern must say which files are read, such as '*.tfrecord'.")
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
        tf.logging.info("Total %d files found in %s", len(self.names), self.base_dir)

    @cached_property
    def total_num_samples(self) -> int:
        if self._num_samples is not None:
            return self._num_samples
        counted = counting.num_samples(self.base_dir, self.names)
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
