"""Error messages for mistakes in the user's functions, with hints."""

import math
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import tensorflow as tf

from danlu.errors import Refused
from danlu.messages import get_message
from danlu_runtime.reports.notes import print_message

_KEYS = tf.estimator.ModeKeys
NEEDED = {
    _KEYS.TRAIN: "loss, train_op",
    _KEYS.EVAL: "loss",
    _KEYS.PREDICT: "predictions",
}
_FEW = 10  # names of files
_LARGE = 100 << 20  # bytes of a graph
_READS = ("ReadVariableOp", "VarIsInitializedOp")
_NO_FILE = re.compile(r"^\s*(\S.*); No such file or directory", re.MULTILINE)


@contextmanager
def in_mode(mode: str, features: str) -> Iterator[None]:
    """Context manager for a call of model_fn that reports the mode if the call fails.

    The error alone does not show which of the calls failed. ``features`` describes the features
    that were passed.
    """
    try:
        yield
    except Refused:
        raise
    except Exception:
        print_message(
            get_message(
                "modelmaker.failed_in_mode", mode=mode, needed=NEEDED[mode], features=features
            )
        )
        raise


def check_specification(spec: Any, mode: str) -> None:
    """Check that ``model_fn`` returned the specification that the mode needs.

    Raises:
        Refused: it did not.
    """
    if not isinstance(spec, tf.estimator.EstimatorSpec):
        raise Refused.from_key(
            "modelmaker.wrong_spec", name__=type(spec).__name__, mode=mode, needed=NEEDED[mode]
        )
    if spec.mode != mode:
        raise Refused.from_key("modelmaker.wrong_mode", mode=spec.mode, mode2=mode)


def report_size(size: int) -> None:
    """Report a graph that contains a large data set.

    The manual's own sample has its whole data set in the graph, as a constant.
    """
    if size > _LARGE:
        print_message(get_message("modelmaker.large_graph", size=size >> 20))


def check_loss(loss: Any, mode: str) -> None:
    if loss is not None and not math.isfinite(float(loss)):
        raise Refused.from_key("modelmaker.first_loss", loss=float(loss), mode=mode)


def check_count(spec: Any) -> None:
    """Check that a training step increments the global step; otherwise training would never end.

    Raises:
        Refused: nothing in the graph writes to the global step, and there is no user hook that may.
    """
    step = tf.train.get_global_step()
    if spec.training_hooks or spec.training_chief_hooks or not hasattr(step, "handle"):
        return
    # Any other operation may write to it, for example a branch of tf.cond.
    users = [one for one in step.handle.consumers() if one.type not in _READS]
    if set(users) <= {step.initializer}:
        raise Refused.from_key("modelmaker.no_count")


@contextmanager
def reading(name: str, path: str) -> Iterator[None]:
    """Context manager for the first batch of an input function that reports missing files."""
    try:
        yield
    except FileNotFoundError:
        contents = _contents(path)
        print_message(get_message("modelmaker.no_file_found", name=name, contents=contents))
        raise  # with the traceback of the user's code
    except tf.errors.NotFoundError as error:
        found = _NO_FILE.search(str(error))
        if found is None:  # not a missing file
            raise
        contents = _contents(path)
        raise Refused.from_key(
            "modelmaker.file_missing", name=name, found=found[1], hint=contents
        ) from None


@contextmanager
def training() -> Iterator[None]:
    """Context manager for the training that explains a NaN loss."""
    try:
        yield
    except tf.train.NanLossDuringTrainingError:
        raise Refused.from_key("modelmaker.nan") from None


def _contents(path: str) -> str:
    names = sorted(os.listdir(path)) if os.path.isdir(path) else []
    if not names:
        return get_message("modelmaker.data_empty", path=path)
    listed = ", ".join(names[:_FEW]) + (", …" if len(names) > _FEW else "")
    return get_message("modelmaker.data_has", path=path, listed=listed)
