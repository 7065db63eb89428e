"""Batches made by the data set itself, and the arguments that say how."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.datasets import images


@dataclass(frozen=True)
class Making:
    """How elements are made of files: the arguments all data sets of images have."""

    batch_size: int | None
    num_epochs: int | None
    preprocess_fn: Callable[..., Any] | None
    augmentation_fn: Callable[[Any], Any] | None
    image_size: Any
    drop_remainder: Any
    private_num_threads: int
    one_size: bool = False  # elements have one size as they are

    def __post_init__(self) -> None:
        for name in ("preprocess_fn", "augmentation_fn"):
            given = getattr(self, name)
            if given is not None and not callable(given):
                raise TypeError(f"{name} must be a function or None, got {given!r}.")
        for name in ("batch_size", "num_epochs"):
            given = getattr(self, name)
            if given is not None and not images.is_count(given):
                raise ValueError(
                    f"{name} must be a whole number of at least 1 or None, got {given!r}."
                )
        same = self.one_size or self.preprocess_fn or self.augmentation_fn
        if self.batch_size is not None and not same and self.image_size is None:
            raise ValueError(
                "With batch_size all images must have one size: pass image_size, or a "
                "preprocess_fn or augmentation_fn that gives them one."
            )
        images.size_of(self.image_size)

    @property
    def size(self) -> tuple[int, int] | None:
        return images.size_of(self.image_size)

    def batched(self, dataset: Any) -> Any:
        if self.batch_size is None:
            return dataset
        return dataset.batch(self.batch_size, drop_remainder=self.drop_remainder)

    def finished(self, dataset: Any) -> Any:
        """Return the data set with threads of its own where asked for, one batch ahead."""
        if self.batch_size is not None:
            dataset = dataset.prefetch(tf.data.experimental.AUTOTUNE)
        if self.private_num_threads > 0:
            options = tf.data.Options()
            options.threading.private_threadpool_size = self.private_num_threads
            dataset = dataset.with_options(options)
        return dataset
