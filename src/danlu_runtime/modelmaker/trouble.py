"""What goes wrong with a user's functions, in words that say what to do about it."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import tensorflow as tf

from danlu.errors import Refused
from danlu_runtime.notes import say

_KEYS = tf.estimator.ModeKeys
NEEDED = {
    _KEYS.TRAIN: "loss and train_op",
    _KEYS.EVAL: "loss",
    _KEYS.PREDICT: "predictions",
}
_FEW = 10  # names of files
_NO_FILE = re.compile(r"^\s*(\S.*); No such file or directory", re.MULTILINE)


@contextmanager
def in_mode(mode: str) -> Iterator[None]:
    """Be around a call of model_fn: its error alone does not say which of the calls failed."""
    try:
        yield
    except Refused:
        raise
    except Exception:
        say(
            f"model_fn failed when it was called with mode {mode!r}, in which it returns "
            f"tf.estimator.EstimatorSpec(mode, ...) with {NEEDED[mode]}"
        )
        raise


def check_specification(spec: Any, mode: str) -> None:
    """See that ``model_fn`` returned what belongs to the mode.

    Raises:
        Refused: it did not.
    """
    if not isinstance(spec, tf.estimator.EstimatorSpec):
        raise Refused(
            f"model_fn returned {type(spec).__name__} when it was called with mode {mode!r}.",
            hint=f"Return tf.estimator.EstimatorSpec(mode, ...) with {NEEDED[mode]}.",
        )
    if spec.mode != mode:
        raise Refused(
            f"model_fn returned the specification of {spec.mode!r} when it was called with mode "
            f"{mode!r}.",
            hint="Pass mode=mode to tf.estimator.EstimatorSpec.",
        )


@contextmanager
def reading(name: str, path: str) -> Iterator[None]:
    """Be around the first batch of an input function: say what there is when a file is not."""
    try:
        yield
    except FileNotFoundError:
        say(f"{name} did not find a file; {_contents(path)}")
        raise  # with the user's own line
    except tf.errors.NotFoundError as error:
        found = _NO_FILE.search(str(error))
        if found is None:  # some other thing that TensorFlow did not find
            raise
        contents = _contents(path)
        raise Refused(
            f"{name} reads {found[1]}, which is not there.",
            hint=f"{contents[0].upper()}{contents[1:]}.",
        ) from None


@contextmanager
def training() -> Iterator[None]:
    """Be around the training: a loss that is no number any more has its sentence."""
    try:
        yield
    except tf.train.NanLossDuringTrainingError:
        raise Refused(
            "The loss became NaN during the training.",
            hint="Try a smaller learning rate, tf.clip_by_global_norm, or look for logarithms and "
            "divisions of zero in model_fn. The log has the last losses.",
        ) from None


def _contents(path: str) -> str:
    names = sorted(os.listdir(path)) if os.path.isdir(path) else []
    if not names:
        return f"the data of the job ({path}) is empty: give --data, a directory with the files"
    more = f" and {len(names) - _FEW} more" if len(names) > _FEW else ""
    return f"the data of the job ({path}) has {', '.join(names[:_FEW])}{more}"
