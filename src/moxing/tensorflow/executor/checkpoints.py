"""Finds checkpoints, those too that another machine has written."""

import os
import re

import tensorflow.compat.v1 as tf

NAME = "model.ckpt"  # what a run calls its own, with the step after it
_STEP = re.compile(r"-(\d+)$")
_PART = re.compile(r"\.(index|meta|data-\d+-of-\d+)$")


def checkpoints(place: str) -> tuple[str, ...]:
    """Return the checkpoints in a directory, the newest first, or the one that is named."""
    named = _PART.sub("", place)
    if not tf.gfile.IsDirectory(place):
        return (named,) if tf.train.checkpoint_exists(named) else ()
    listed = _listed(place)
    there = _there(place)
    if listed and step_of(listed[0]) < max(map(step_of, listed)):
        return tuple(dict.fromkeys((*listed, *there)))  # somebody has chosen an older one
    found = sorted(dict.fromkeys((*listed, *there)), key=step_of, reverse=True)
    nameless = [each for each in found if step_of(each) < 0]
    if len(nameless) > 1 and len(nameless) == len(found) and not listed:
        raise ValueError(
            f"{place} has several checkpoints: {', '.join(map(os.path.basename, nameless))}. "
            "Name the one that is meant."
        )
    return tuple(found)


def step_of(prefix: str) -> int:
    found = _STEP.search(prefix)
    return int(found.group(1)) if found else -1


def _listed(place: str) -> list[str]:
    """Return what the file ``checkpoint`` has and what is there, the one in use first.

    Paths in it may be those of another machine: the files lie beside it all the same.
    """
    state = tf.train.get_checkpoint_state(place)
    if state is None:
        return []
    paths = [state.model_checkpoint_path, *reversed(state.all_model_checkpoint_paths)]
    beside = [os.path.join(place, os.path.basename(each)) for each in paths]
    return [each for each in dict.fromkeys(beside) if tf.train.checkpoint_exists(each)]


def _there(place: str) -> list[str]:
    """Return what lies in the directory, listed or not; the first format is one file."""
    names = [name.rstrip("/") for name in tf.gfile.ListDirectory(place)]
    second = [name[: -len(".index")] for name in names if name.endswith(".index")]
    first = [name for name in names if name.endswith(".ckpt") and name not in second]
    found = [os.path.join(place, name) for name in (*second, *first)]
    return [each for each in found if tf.train.checkpoint_exists(each)]
