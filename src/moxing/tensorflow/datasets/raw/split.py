"""Splits a data set of images in class folders into two folders, without TensorFlow."""

import logging
import os
import random
from collections.abc import Mapping, Sequence

from moxing.framework import file
from moxing.tensorflow.datasets.places import is_hidden, is_image, joined

log = logging.getLogger("moxing")

_HALF_A_PERCENT = 0.005


def split_image_classification_dataset(
    split_spec: Mapping[str, float],
    src_dir: str,
    dst_dir: str,
    overwrite: bool = False,
) -> None:
    """Copy ``src_dir/<label>/*`` into ``dst_dir/<split>/<label>/*``, each class by the same ratio.

    The same files always fall into the same split. ``labels.txt`` goes into each. Without
    ``overwrite`` nothing may be in the directories of the splits yet; ``dst_dir`` itself may be
    there, and may hold ``src_dir``. Nothing is removed before all of this is known.

    Raises:
        ValueError: the ratios are not between 0 and 1 or their sum is above 1, a split is there
            already, or is ``src_dir`` itself, or ``src_dir`` holds no images.
    """
    _check(split_spec, src_dir)
    targets = {name: joined(dst_dir, name) for name in split_spec}
    there = [target for target in targets.values() if _is_to_be_replaced(target, src_dir)]
    if there and not overwrite:
        raise ValueError(
            f"{there[0]!r} is there already. Remove it, write another dst_dir, or pass "
            "overwrite=True to replace it."
        )
    shares = _shares(src_dir, split_spec, [_rest(src_dir, target) for target in targets.values()])
    for target in there:
        file.remove(target, recursive=True)
    for name, files in shares.items():
        file.copy_parallel(src_dir, targets[name], file_list=files)
        log.info("split name=%s files=%d to=%s", name, len(files), targets[name])


def _is_to_be_replaced(target: str, src_dir: str) -> bool:
    """Return True if a split exists. A split that holds the images itself is never replaced."""
    if _rest(target, src_dir) is not None:
        raise ValueError(
            f"The split {target!r} would replace the images it is made of, those of {src_dir!r}. "
            "Write another dst_dir, or another name in split_spec."
        )
    return file.exists(target)


def _rest(folder: str, path: str) -> str | None:
    """Return a path as seen from a folder that holds it, '' where it is the folder; else None."""
    outer, inner = _place(folder), _place(path)
    if outer == inner:
        return ""
    return inner.removeprefix(f"{outer}/") if inner.startswith(f"{outer}/") else None


def _place(path: str) -> str:
    """Return where a path leads: links followed, and one store whatever its scheme is called."""
    scheme, separator, rest = path.rstrip("/").partition("://")
    if separator and scheme != "file":
        return f"://{rest}"
    return os.path.realpath(rest if separator else path)


def _check(split_spec: Mapping[str, float], src_dir: str) -> None:
    if not split_spec:
        raise ValueError("split_spec is empty; write for example {'train': 0.9, 'eval': 0.1}.")
    for name, ratio in split_spec.items():
        if not isinstance(ratio, int | float) or not 0 < ratio <= 1:
            raise ValueError(f"split_spec[{name!r}] must be above 0 and at most 1, got {ratio!r}.")
    total = sum(split_spec.values())
    if total > 1 + _HALF_A_PERCENT:
        raise ValueError(f"The ratios of split_spec make {total:g}; together they are at most 1.")
    if not file.is_directory(src_dir):
        raise ValueError(f"src_dir {src_dir!r} is not a directory.")


def _shares(
    src_dir: str, split_spec: Mapping[str, float], splits: Sequence[str | None]
) -> dict[str, list[str]]:
    """Return the files of each split; what lies in ``splits``, below ``src_dir``, is none."""
    own = tuple(f"{split}/" for split in splits if split is not None)
    classes: dict[str, list[str]] = {}
    for path in file.list_directory(src_dir, recursive=True, skip_dir=True):
        if "/" in path and is_image(path) and not is_hidden(path) and not path.startswith(own):
            classes.setdefault(path.partition("/")[0], []).append(path)
    if not classes:
        raise ValueError(f"No images are in the directories of {src_dir!r}.")
    shares: dict[str, list[str]] = {name: [] for name in split_spec}
    for label, files in classes.items():
        random.Random(label).shuffle(files)  # the same files, the same split
        for name, share in _cut(files, split_spec).items():
            shares[name] += share
    if file.exists(f"{src_dir.rstrip('/')}/labels.txt"):
        for files in shares.values():
            files.append("labels.txt")
    return shares


def _cut(files: list[str], split_spec: Mapping[str, float]) -> dict[str, list[str]]:
    """Return consecutive parts; a class of few images has at least one in each, if it can."""
    cut: dict[str, list[str]] = {}
    begin, ratio_so_far, left = 0, 0.0, len(split_spec)
    for name, ratio in split_spec.items():
        ratio_so_far += ratio
        left -= 1
        end = max(round(ratio_so_far * len(files)), begin + 1)
        end = min(end, max(len(files) - left, begin + 1))
        cut[name] = files[begin:end]
        begin = end
    return cut
