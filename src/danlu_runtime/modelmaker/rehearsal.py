"""Builds every graph and runs it on one batch before the training: a mistake is told in seconds.

TRAIN and EVAL on a batch of their own data, PREDICT on a batch of the second, and the graph that
will be exported on the same batch, as a request. The training operation itself is built and not
run.
"""

import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import tensorflow as tf

from danlu.errors import Refused
from danlu_runtime.modelmaker.answer import first_line
from danlu_runtime.modelmaker.functions import Functions
from danlu_runtime.modelmaker.receiver import Receiver, Shapes
from danlu_runtime.modelmaker.request import feeds
from danlu_runtime.modelmaker.trouble import (
    check_count,
    check_loss,
    check_specification,
    in_mode,
    reading,
    tell_size,
)
from danlu_runtime.notes import say

_KEYS = tf.estimator.ModeKeys
_NOT_FED = "must feed a value for placeholder"


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
    names = _export(estimator, receiver, shapes, batch)
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
        shapes = Shapes(features)
        # model_fn may take some out.
        wanted = {"features": dict(features) if isinstance(features, dict) else features}
        spec = _specification(estimator, features, given, mode, f"the features of {name}: {shapes}")
        if mode == _KEYS.TRAIN:
            tell_size(tf.get_default_graph().as_graph_def().ByteSize())
            check_count(spec)
        if mode == _KEYS.PREDICT:
            wanted["predictions"] = spec.predictions
        else:
            wanted["loss"] = spec.loss
            wanted["metrics"] = [update for _, update in (spec.eval_metric_ops or {}).values()]
        values = _tried(wanted, spec, hooks)
        check_loss(values.get("loss"), mode)
        return shapes, values["features"]


def _tried(wanted: dict[str, Any], spec: Any, hooks: list[Any]) -> dict[str, Any]:
    """Run the graph; one that hooks of the user's feed gives its features only."""
    own = (*spec.training_hooks, *spec.training_chief_hooks, *spec.evaluation_hooks)
    try:
        return _values(wanted, spec, hooks)
    except tf.errors.InvalidArgumentError as error:
        if not own or _NOT_FED not in str(error):
            raise
    say(f"hooks of model_fn feed its graph: in mode {spec.mode!r} it was built, and not tried")
    return _values({"features": wanted["features"]}, spec, hooks)


def _values(wanted: dict[str, Any], spec: Any, hooks: list[Any], fed: Any = None) -> dict[str, Any]:
    creator = tf.train.ChiefSessionCreator(scaffold=spec.scaffold)
    with ExitStack() as stack:
        session = stack.enter_context(tf.train.MonitoredSession(creator, hooks))
        try:
            return session.run(wanted, fed)  # type: ignore[no-any-return]
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
    if found is None or callable(found):
        raise Refused(
            f"{name} returned {'None' if found is None else 'a function'}.",
            hint="It must return a tf.data.Dataset or a pair (features, labels)."
            + ("" if found is None else " Call the function: return numpy_input_fn(...)()."),
        )
    return found, None


class _Initialised(tf.train.SessionRunHook):
    def __init__(self, iterator: Any) -> None:
        self._iterator = iterator

    def after_create_session(self, session: Any, coord: Any) -> None:
        session.run(self._iterator.initializer)


def _specification(estimator: Any, features: Any, labels: Any, mode: str, told: str) -> Any:
    with in_mode(mode, told):
        # tensorflow-estimator 2.15: what its own train, evaluate and export call.
        spec = estimator._call_model_fn(features, labels, mode, estimator.config)
    check_specification(spec, mode)
    return spec


def _export(estimator: Any, receiver: Receiver, shapes: Shapes, batch: Any) -> list[str]:
    """Build the graph that will be exported, and try it; return its signatures."""
    with tf.Graph().as_default() as graph:
        tf.train.create_global_step()
        received = receiver()
        told = (
            f"the features of serving_input_receiver_fn: {Shapes(received.features)}. With those "
            f"of eval_input_fn it did not fail: {shapes}"
        )
        spec = _specification(estimator, received.features, None, _KEYS.PREDICT, told)
        inputs = received.receiver_tensors
        inputs = inputs if isinstance(inputs, dict) else {"input": inputs}
        # What clients will send is a guess of ours: it is no fault that a receiver wants more.
        try:
            described = {
                name: tf.saved_model.utils.build_tensor_info(one) for name, one in inputs.items()
            }
            fed = feeds(described, batch, graph)
            if fed is not None:
                _values({"predictions": spec.predictions}, spec, [], fed)
        except Exception as error:
            say(
                "the model that will be exported does not take a batch of eval_input_fn: "
                f"{first_line(error)}. If clients send what the data has, mend "
                "serving_input_receiver_fn"
            )
        return sorted(spec.export_outputs or {})
