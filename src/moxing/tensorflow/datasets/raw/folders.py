"""What a folder of images holds: a directory for each class."""

import logging
import re
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property

import tensorflow.compat.v1 as tf

from moxing.framework import file
from moxing.tensorflow.datasets import labels, places


class ClassesOfFolder:
    """A mix-in for classes with ``base_dir``, ``redirect_dir`` and ``labels_list``."""

    base_dir: str
    redirect_dir: str | None
    labels_list: list[str]

    @property
    def num_classes(self) -> int:
        return len(self.labels_list)

    @property
    def labels_to_names(self) -> dict[int, str]:
        return dict(enumerate(self.labels_list))

    @property
    def names_to_labels(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.labels_list)}

    @property
    def read_dir(self) -> str:
        """The folder the files are read from."""
        return self.redirect_dir or self.base_dir

    def __str__(self) -> str:
        return self.base_dir


class ImageClassificationRawMetadata(ClassesOfFolder):
    """A directory for each class, and ``labels.txt`` where the order of the classes matters.

    Without it the names are sorted, as characters: label_0, label_1, label_10, label_2. Hidden
    files and files that are no images are passed. ``redirect_dir`` is another folder with the same
    files, such as a copy on a faster disk: ``base_dir`` is listed, the files are read from there.
    """

    def __init__(
        self,
        base_dir: str,
        redirect_dir: str | None = None,
        labels_filename: str = "labels.txt",
    ) -> None:
        self.base_dir = places.needed(base_dir)
        self.redirect_dir = redirect_dir
        found = _listed(self.base_dir)
        self.labels_list = self._labels(sorted(found), labels_filename)
        self.files = [
            (path, number) for number, name in enumerate(self.labels_list) for path in found[name]
        ]
        self.total_num_samples = len(self.files)
        self._log_files(found)

    @property
    def num_samples(self) -> int:
        return self.total_num_samples

    def classes_inside(self) -> list[str]:
        """Return the directories of the only class; none where there are other images or classes.

        They are most often the classes themselves: the folder above that of the data was given.
        """
        deep = [path.split("/") for path, _ in self.files]
        if self.num_classes != 1 or any(len(parts) < 3 for parts in deep):
            return []
        return sorted({parts[1] for parts in deep})

    def _class_folder(self) -> str:
        return places.joined(self.base_dir, self.labels_list[0])

    def _labels(self, folders: list[str], filename: str) -> list[str]:
        path = places.joined(self.base_dir, filename)
        if not filename or not file.exists(path):
            return folders
        listed = labels.read(path)
        labels.agree(listed, folders, path)
        return listed

    def _log_files(self, found: dict[str, list[str]]) -> None:
        if not self.files:
            raise ValueError(
                f"No images are in the directories of {self.base_dir!r}; their names end in "
                f"{', '.join(places.IMAGES)}."
            )
        tf.logging.info("Total %d files found in %s", self.total_num_samples, self.base_dir)
        tf.logging.info("Total number of samples is %d", self.total_num_samples)
        labels.log(self.labels_list)
        if inside := self.classes_inside():
            tf.logging.warning(
                "All images are of one class, %s, which has directories of its own: %s. Are these "
                "the classes? Then %s is the folder of the data set.",
                *(self.labels_list[0], ", ".join(inside[:5]), self._class_folder()),
            )
        for name in self.labels_list:
            if not found[name]:
                tf.logging.warning("The directory %s of %s has no images.", name, self.base_dir)


def _listed(base_dir: str) -> dict[str, list[str]]:
    """Return the images of each directory, sorted, from one listing."""
    found: dict[str, list[str]] = {}
    loose, others = "", []
    for path in file.list_directory(base_dir, recursive=True, remove_sep=False):
        if places.is_hidden(path.rstrip("/")):
            continue
        name, inside, _ = path.partition("/")
        if not inside:
            loose = loose or (name if places.is_image(name) else "")
            continue
        images = found.setdefault(name, [])
        if places.is_image(path):
            images.append(path)
        elif not path.endswith("/"):
            others.append(path)
    if not found:
        beside = f" {loose!r} lies in it directly." if loose else ""
        raise ValueError(
            f"There are no directories in {base_dir!r}.{beside} Put the images of each class into "
            "a directory that has the name of the class."
        )
    if others:
        tf.logging.info(
            "%d files that are no images are passed, such as %s", len(others), others[0]
        )
    return found


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
    def labels_list(self) -> list[str]:  # type: ignore[override]  # mypy: read-only; it is not
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


log = logging.getLogger("moxing")
