"""Builds every graph and runs it on one batch before the training to find mistakes in seconds.

TRAIN and EVAL run on a batch of their own data, and PREDICT on a batch of the evaluation data. The
graph that will be exported runs on the same batch as a request. The training operation itself is
built but not run.
"""

import re
import time
import traceback
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, NamedTuple

import tensorflow as tf

from danlu.errors import Refused
from danlu.messages import get_message
from danlu_runtime.modelmaker.diagnostics import (
    check_count,
    check_loss,
    check_specification,
    in_mode,
    reading,
    report_size,
)
from danlu_runtime.modelmaker.export_check import feeds, first_line
from danlu_runtime.modelmaker.functions import Functions
from danlu_runtime.reports.notes import print_message
from danlu_runtime.start import own_code

_FEW = 3  # maximum number of nested calls, for functions that return functions


class Receiver:
    """Creates the serving receiver in a graph; reports once if it had to derive the inputs."""

    def __init__(self, own: Callable[[], Any], shapes: "Shapes", *, reported: bool = False) -> None:
        self._own = own
        self._shapes = shapes
        self._reported = reported

    def __call__(self) -> Any:
        try:
            found = self._call()
        except Exception as error:
            self._report_fallback(error)
            return self._shapes.receiver()
        self._report_single(found)
        return found

    def _call(self) -> Any:
        found = self._own
        for _ in range(_FEW):
            found = found()
            if not callable(found):
                break
        if not hasattr(found, "receiver_tensors"):
            raise TypeError(
                f"serving_input_receiver_fn returned {type(found).__name__}, not a "
                "ServingInputReceiver"
            )
        return found

    def _report_fallback(self, error: Exception) -> None:
        if self._reported:
            return
        self._reported = True
        why = f"{type(error).__name__}: {error}{_line(error)}"
        print_message(get_message("modelmaker.receiver_failed", why=why, shapes=self._shapes))

    def _report_single(self, found: Any) -> None:
        tensors = found.receiver_tensors
        tensors = tensors if isinstance(tensors, dict) else {"input": tensors}
        single = sorted(name for name, one in tensors.items() if _first_dimension(one) == 1)
        if single and not self._reported:
            self._reported = True
            print_message(get_message("modelmaker.one_example", single=", ".join(single)))


class Shapes:
    """Names, types and shapes of the features of a batch."""

    def __init__(self, features: Any) -> None:
        self._single = not isinstance(features, dict)
        named = {"input": features} if self._single else features
        strange = [one for one in named.values() if not hasattr(one, "dtype")]
        self._strange = f"a {type(strange[0]).__name__}" if strange else ""
        self._kinds = {} if strange else {name: _Kind.of(one) for name, one in named.items()}

    def receiver(self) -> Any:
        """Return a receiver for these features.

        Raises:
            Refused: no receiver can be derived from features of this type.
        """
        import tensorflow as tf

        if self._strange:
            raise Refused.from_key("modelmaker.no_inputs", strange=self._strange)
        inputs = {name: kind.placeholder(name) for name, kind in self._kinds.items()}
        export = tf.estimator.export
        if self._single:
            return export.TensorServingInputReceiver(inputs["input"], inputs["input"])
        return export.ServingInputReceiver(inputs, inputs)

    def __str__(self) -> str:
        return self._strange or ", ".join(
            f"{name} {kind.dtype.name}{'?' if kind.shape is None else kind.shape}"
            for name, kind in self._kinds.items()
        )


class _Kind(NamedTuple):
    """A feature without its values, which would keep the whole graph in memory."""

    dtype: Any
    shape: list[int | None] | None  # for batches of any size; None: unknown
    sparse: bool

    @classmethod
    def of(cls, tensor: Any) -> "_Kind":
        import tensorflow as tf

        shape = None if tensor.shape.rank is None else [None, *tensor.shape.as_list()[1:]]
        return cls(tensor.dtype.base_dtype, shape, isinstance(tensor, tf.SparseTensor))

    def placeholder(self, name: str) -> Any:
        import tensorflow as tf

        plain = re.sub(r"\W", "_", name, flags=re.ASCII).lstrip("_") or "input"
        make = tf.sparse_placeholder if self.sparse else tf.placeholder
        return make(self.dtype, self.shape, name=plain)


def _line(error: Exception) -> str:
    """Return the failed line of the user's code."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if own_code.contains(frame.filename):
            return f" (line {frame.lineno})"
    return ""


def _first_dimension(tensor: Any) -> int | None:
    shape = getattr(tensor, "shape", None)
    if shape is None or not shape.rank:
        return None
    first: int | None = shape.as_list()[0]
    return first


_KEYS = tf.estimator.ModeKeys
_NOT_FED = "must feed a value for placeholder"


def rehearse(functions: Functions, estimator: Any) -> tuple[Receiver, dict[str, Any]]:
    """Return the receiver of the export and the features of one evaluation batch.

    Raises:
        Refused: a function returns something that the platform cannot use. Errors of the user's
            code are raised unchanged, with the user's lines.
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
    print_message(get_message("modelmaker.rehearsed", took=took, names=", ".join(names)))
    return receiver, batch


def receiver_of(functions: Functions, estimator: Any) -> Receiver:
    """Return the receiver of the export if another process has rehearsed and reported."""
    shapes, _ = _run(estimator, functions.eval_input_fn, _KEYS.PREDICT, "eval_input_fn")
    return Receiver(functions.receiver_fn, shapes, reported=True)


def _run(
    estimator: Any, input_fn: Callable[[], Any], mode: str, name: str
) -> tuple[Shapes, dict[str, Any]]:
    """Build the graph of a mode and run it once; return shapes and values of the features."""
    with tf.Graph().as_default():
        tf.set_random_seed(estimator.config.tf_random_seed)
        tf.train.create_global_step()
        hooks: list[Any] = []
        features, labels = _batch(input_fn(), name, hooks)
        given = labels if mode != _KEYS.PREDICT else None
        shapes = Shapes(features)
        # model_fn may remove features from the dictionary.
        wanted = {"features": dict(features) if isinstance(features, dict) else features}
        spec = _specification(
            estimator,
            features,
            given,
            mode,
            get_message("modelmaker.features_of", name=name, shapes=shapes),
        )
        if mode == _KEYS.TRAIN:
            report_size(tf.get_default_graph().as_graph_def().ByteSize())
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
    """Run the graph; if the user's hooks feed it, return its features only."""
    own = (*spec.training_hooks, *spec.training_chief_hooks, *spec.evaluation_hooks)
    try:
        return _values(wanted, spec, hooks)
    except tf.errors.InvalidArgumentError as error:
        if not own or _NOT_FED not in str(error):
            raise
    print_message(get_message("modelmaker.hooks_feed", mode=spec.mode))
    return _values({"features": wanted["features"]}, spec, hooks)


def _values(wanted: dict[str, Any], spec: Any, hooks: list[Any], fed: Any = None) -> dict[str, Any]:
    creator = tf.train.ChiefSessionCreator(scaffold=spec.scaffold)
    with ExitStack() as stack:
        session = stack.enter_context(tf.train.MonitoredSession(creator, hooks))
        try:
            return session.run(wanted, fed)
        except tf.errors.OutOfRangeError:
            raise Refused.from_key("modelmaker.no_batch") from None


def _batch(found: Any, name: str, hooks: list[Any]) -> tuple[Any, Any]:
    """Return features and labels of a data set or of a pair of tensors."""
    if isinstance(found, tf.data.Dataset | tf.compat.v2.data.Dataset):
        iterator = tf.data.make_initializable_iterator(found)
        hooks.append(_Initialised(iterator))
        found = iterator.get_next()
    if isinstance(found, tuple | list):
        if len(found) != 2:
            raise Refused.from_key("modelmaker.parts", name=name, found=len(found))
        return tuple(found)
    if found is None or callable(found):
        key = "modelmaker.returned_none" if found is None else "modelmaker.returned_function"
        raise Refused.from_key(key, name=name)
    return found, None


class _Initialised(tf.train.SessionRunHook):
    def __init__(self, iterator: Any) -> None:
        self._iterator = iterator

    def after_create_session(self, session: Any, coord: Any) -> None:
        session.run(self._iterator.initializer)


def _specification(estimator: Any, features: Any, labels: Any, mode: str, differing: str) -> Any:
    with in_mode(mode, differing):
        # Used by train, evaluate and export of tensorflow-estimator 2.15.
        spec = estimator._call_model_fn(features, labels, mode, estimator.config)
    check_specification(spec, mode)
    return spec


def _export(estimator: Any, receiver: Receiver, shapes: Shapes, batch: Any) -> list[str]:
    """Build the graph that will be exported and run it; return its signatures."""
    with tf.Graph().as_default() as graph:
        tf.train.create_global_step()
        received = receiver()
        differing = get_message(
            "modelmaker.features_differ", features=Shapes(received.features), shapes=shapes
        )
        spec = _specification(estimator, received.features, None, _KEYS.PREDICT, differing)
        inputs = received.receiver_tensors
        inputs = inputs if isinstance(inputs, dict) else {"input": inputs}
        # The request format of clients is a guess. A receiver that needs more is not an error.
        try:
            described = {
                name: tf.saved_model.utils.build_tensor_info(one) for name, one in inputs.items()
            }
            fed = feeds(described, batch, graph)
            if fed is not None:
                _values({"predictions": spec.predictions}, spec, [], fed)
        except Exception as error:
            print_message(get_message("modelmaker.export_refuses", error=first_line(error)))
        return sorted(spec.export_outputs or {})
