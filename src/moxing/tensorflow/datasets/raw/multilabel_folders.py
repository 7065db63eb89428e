"""What a folder of images with several labels each holds."""

import re
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property

import tensorflow.compat.v1 as tf

from moxing.framework import file
from moxing.tensorflow.datasets import labels, places
from moxing.tensorflow.datasets.raw.classes import ClassesOfFolder

DEFAULT_SEPARATOR = "\n"
_READERS = 32


class MultilabelClassificationRawMetadata(ClassesOfFolder):
    """``images/x.jpg`` with its labels in ``labels/x.jpg.txt``, and ``labels.txt``.

    Without ``labels.txt`` the names are those of all label files, sorted; they are read when
    first asked for.
    """

    def __init__(
        self,
        base_dir: str,
        images_sub_dir: str = "images",
        labels_sub_dir: str = "labels",
        labels_extension: str = "txt",
        redirect_dir: str | None = None,
        labels_filename: str = "labels.txt",
    ) -> None:
        self.base_dir = places.needed(base_dir)
        self.redirect_dir = redirect_dir
        self.images_sub_dir = images_sub_dir
        self.labels_sub_dir = labels_sub_dir
        self.labels_extension = labels_extension.lstrip(".")
        self.labels_file = places.joined(self.base_dir, labels_filename)
        self.images = [path for path in self._listed(images_sub_dir) if places.is_image(path)]
        if not self.images:
            raise ValueError(
                f"No images are in {places.joined(self.base_dir, images_sub_dir)!r}; write "
                "images_sub_dir where they are in another directory."
            )
        self._label_files = set(self._listed(labels_sub_dir))
        self.total_num_samples = len(self.images)
        tf.logging.info("Total %d files found in %s", len(self.images), self.base_dir)
        tf.logging.info("Total number of samples is %d", self.total_num_samples)

    @property
    def num_samples(self) -> int:
        return self.total_num_samples

    @cached_property
    def labels_list(self) -> list[str]:
        if self.has_labels_file:
            names = labels.read(self.labels_file)
        else:
            names = self.names_in_files(DEFAULT_SEPARATOR)
        labels.log(names)
        return names

    @cached_property
    def has_labels_file(self) -> bool:
        return file.exists(self.labels_file)

    def without_labels(self) -> list[str]:
        """Return the images that have no label file."""
        return [path for path in self.images if self.label_file_of(path) not in self._label_files]

    def label_file_of(self, image: str) -> str:
        return f"{image}.{self.labels_extension}"

    def names_in_files(self, separator: str) -> list[str]:
        """Return all names in the label files of images, sorted."""
        wanted = [self.label_file_of(path) for path in self.images]
        there = [name for name in wanted if name in self._label_files]
        if len(there) > 1000:
            tf.logging.info(
                "Reading %d label files for the names of the labels; %s would save that.",
                *(len(there), self.labels_file),
            )
        folder = places.joined(self.read_dir, self.labels_sub_dir)
        with ThreadPoolExecutor(_READERS) as pool:
            texts = pool.map(lambda name: file.read(places.joined(folder, name)), there)
            return sorted({name for text in texts for name in separated(text, separator)})

    def _listed(self, sub_dir: str) -> list[str]:
        folder = places.joined(self.base_dir, sub_dir)
        if not file.is_directory(folder):
            raise ValueError(f"{self.base_dir!r} has no directory {sub_dir!r}.")
        found = file.list_directory(folder, recursive=True, skip_dir=True)
        return [path for path in found if not places.is_hidden(path)]


def separated(text: str, separator: str) -> list[str]:
    """Return the labels in a text; the default separator stands for any white space."""
    parts = re.split(r"\s+", text) if separator == DEFAULT_SEPARATOR else text.split(separator)
    return [part.strip() for part in parts if part.strip()]
