"""What a folder of images holds: a directory for each class."""

import tensorflow.compat.v1 as tf

from moxing.framework import file
from moxing.tensorflow.datasets import labels, places
from moxing.tensorflow.datasets.raw.classes import ClassesOfFolder


class ImageClassificationRawMetadata(ClassesOfFolder):
    """A directory for each class, and ``labels.txt`` where the order of the classes matters.

    Without it the names are sorted, as characters: label_0, label_1, label_10, label_2. Hidden
    files and files that are no images are passed. ``redirect_dir`` is another folder with the same
    files, such as a copy on a faster disk: what is there is told by ``base_dir``, read from there.
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
        self._tell(found)

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

    def _tell(self, found: dict[str, list[str]]) -> None:
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
