"""Builds every graph and runs it on one batch before the training: a mistake is told in seconds.

TRAIN and EVAL on a batch of their own data, PREDICT on a batch of the second, and the graph that
will be exported. The training operation itself is built and not run.
"""

import math
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import tensorflow as tf

from danlu.errors import Refused
from danlu_runtime.modelmaker.functions import Functions
from danlu_runtime.modelmaker.receiver import Receiver, Shapes
from danlu_runtime.modelmaker.trouble import check_specification, in_mode, reading
from danlu_runtime.notes import say

_KEYS = tf.estimator.ModeKeys
_LARGE = 100 << 20  # bytes of a graph


def rehearse(functions: Functions, estimator: Any) -> tuple[Receiver, dict[str, Any]]:
    """Return the receiver of the export and the features of one batch for evaluation.

    Raises:
        Refused: a function gives what the platform cannot use. Errors of the user's code are
            raised as they are, with the user's own lines.
    """
    began = time.monotonic()
    with reading("train_input_fn", functions.path):
        _run(estimator, functions.train_input_fn, _KEYS.TRAIN, "train_input_fn")
    with reading("eval_input_fn", functions.path):
        _, batch = _run(estimator, functions.eval_input_fn, _KEYS.EVAL, "eval_input_fn")
        shapes, _ = _run(estimator, functions.eval_input_fn, _KEYS.PREDICT, "eval_input_fn")
    receiver = Receiver(functions.receiver_fn, shapes)
    names = _export(estimator, receiver)
    took = time.monotonic() - began
    say(
        f"rehearsed in {took:.1f} s: one batch through TRAIN, EVAL and PREDICT; the model will be "
        f"exported with {', '.join(names)}"
    )
    return receiver, batch


def receiver_of(functions: Functions, estimator: Any) -> Receiver:
    """Return the receiver of the export where another process has rehearsed, and told of it."""
    shapes, _ = _run(estimator, functions.eval_input_fn, _KEYS.PREDICT, "eval_input_fn")
    return Receiver(functions.receiver_fn, shapes, told=True)


def _run(
    estimator: Any, input_fn: Callable[[], Any], mode: str, name: str
) -> tuple[Shapes, dict[str, Any]]:
    """Build the graph of a mode and run it once; return what the features are, and their values."""
    with tf.Graph().as_default():
        tf.set_random_seed(estimator.config.tf_random_seed)
        tf.train.create_global_step()
        hooks: list[Any] = []
        features, labels = _batch(input_fn(), name, hooks)
        given = labels if mode != _KEYS.PREDICT else None
        spec = _specification(estimator, features, given, mode)
        if mode == _KEYS.TRAIN:
            _tell_size(tf.get_default_graph().as_graph_def().ByteSize())
        wanted = {"features": features}
        if mode == _KEYS.PREDICT:
            wanted["predictions"] = spec.predictions
        else:
            wanted["loss"] = spec.loss
            wanted["metrics"] = [update for _, update in (spec.eval_metric_ops or {}).values()]
        values = _values(wanted, spec, hooks)
        _check_loss(values.get("loss"), mode)
        return Shapes(features), values["features"]


def _values(wanted: dict[str, Any], spec: Any, hooks: list[Any]) -> dict[str, Any]:
    creator = tf.train.ChiefSessionCreator(scaffold=spec.scaffold)
    with ExitStack() as stack:
        session = stack.enter_context(tf.train.MonitoredSession(creator, hooks))
        try:
            return session.run(wanted)  # type: ignore[no-any-return]
        except tf.errors.OutOfRangeError:
            raise Refused("The data has not even one batch.") from None


def _batch(found: Any, name: str, hooks: list[Any]) -> tuple[Any, Any]:
    """Return features and labels of a data set or of a pair of tensors."""
    if isinstance(found, tf.data.Dataset | tf.compat.v2.data.Dataset):
        iterator = tf.data.make_initializable_iterator(found)
        hooks.append(_Initialised(iterator))
        found = iterator.get_next()
    if isinstance(found, tuple | list):
        if len(found) != 2:
            raise Refused(
                f"{name} must give (features, labels), got {len(found)} parts.",
                hint="Put several features into a dictionary.",
            )
        return tuple(found)
    if found is None:
        raise Refused(
            f"{name} returned None.",
            hint="It must return a tf.data.Dataset or a pair (features, labels).",
        )
    return found, None


class _Initialised(tf.train.SessionRunHook):
    def __init__(self, iterator: Any) -> None:
        self._iterator = iterator

    def after_create_session(self, session: Any, coord: Any) -> None:
        session.run(self._iterator.initializer)


def _specification(estimator: Any, features: Any, labels: Any, mode: str) -> Any:
    with in_mode(mode):
        # tensorflow-estimator 2.15: what its own train, evaluate and export call.
        spec = estimator._call_model_fn(features, labels, mode, estimator.config)
    check_specification(spec, mode)
    return spec


def _tell_size(size: int) -> None:
    """The manual's own sample has its whole data set in the graph, as a constant."""
    if size > _LARGE:
        say(
            f"train_input_fn has put {size >> 20} MB of data into the graph, and every checkpoint "
            "and event file holds a copy of it. tf.data.Dataset.from_generator, or files read by "
            "tf.data, keep it out."
        )


def _check_loss(loss: Any, mode: str) -> None:
    if loss is not None and not math.isfinite(float(loss)):
        raise Refused(
            f"The loss of the first batch is {float(loss)} in mode {mode!r}.",
            hint="Look at the data for values that are missing, and at logarithms and divisions "
            "of zero in model_fn.",
        )


def _export(estimator: Any, receiver: Receiver) -> list[str]:
    """Build the graph that will be exported; return its signatures."""
    with tf.Graph().as_default():
        tf.train.create_global_step()
        received = receiver()
        spec = _specification(estimator, received.features, None, _KEYS.PREDICT)
        return sorted(spec.export_outputs or {})
