"""What goes wrong with a user's functions, in words that say what to do about it."""

import math
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
_LARGE = 100 << 20  # bytes of a graph
_READS = ("ReadVariableOp", "VarIsInitializedOp")
_NO_FILE = re.compile(r"^\s*(\S.*); No such file or directory", re.MULTILINE)


@contextmanager
def in_mode(mode: str, features: str) -> Iterator[None]:
    """Be around a call of model_fn: its error alone does not say which of the calls failed.

    ``features`` says which it was given.
    """
    try:
        yield
    except Refused:
        raise
    except Exception:
        say(
            f"model_fn failed when it was called with mode {mode!r}, in which it returns "
            f"tf.estimator.EstimatorSpec(mode, ...) with {NEEDED[mode]}, and with {features}"
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


def tell_size(size: int) -> None:
    """The manual's own sample has its whole data set in the graph, as a constant."""
    if size > _LARGE:
        say(
            f"train_input_fn has put {size >> 20} MB of data into the graph, and every checkpoint "
            "and event file holds a copy of it. tf.data.Dataset.from_generator, or files read by "
            "tf.data, keep it out."
        )


def check_loss(loss: Any, mode: str) -> None:
    if loss is not None and not math.isfinite(float(loss)):
        raise Refused(
            f"The loss of the first batch is {float(loss)} in mode {mode!r}.",
            hint="Look at the data for values that are missing, and at logarithms and divisions "
            "of zero in model_fn.",
        )


def check_count(spec: Any) -> None:
    """See that a step of the training counts: one that does not would be trained for ever.

    Raises:
        Refused: nothing in the graph writes to the global step, and no hook of the user's may.
    """
    step = tf.train.get_global_step()
    if spec.training_hooks or spec.training_chief_hooks or not hasattr(step, "handle"):
        return
    # Any other operation may write to it, such as a branch of tf.cond.
    users = [one for one in step.handle.consumers() if one.type not in _READS]
    if set(users) <= {step.initializer}:
        raise Refused(
            "The train_op of model_fn does not count its steps: train_max_steps would never be "
            "reached, and every checkpoint be that of step 0.",
            hint="Pass the counter: optimizer.minimize(loss, "
            "global_step=tf.train.get_global_step()).",
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
