"""The input of the exported model: the user's receiver, or one derived from the data, loudly."""

import re
import traceback
from collections.abc import Callable
from typing import Any, NamedTuple

from danlu.errors import Refused
from danlu_runtime import own_code
from danlu_runtime.notes import say

_FEW = 3  # calls of functions that return functions


class Receiver:
    """Gives the serving receiver inside a graph; tells once what it had to do for it."""

    def __init__(self, own: Callable[[], Any], shapes: "Shapes", *, told: bool = False) -> None:
        self._own = own
        self._shapes = shapes
        self._told = told

    def __call__(self) -> Any:
        try:
            found = self._call()
        except Exception as error:
            self._tell_fallback(error)
            return self._shapes.receiver()
        self._tell_single(found)
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

    def _tell_fallback(self, error: Exception) -> None:
        if self._told:
            return
        self._told = True
        say(
            f"serving_input_receiver_fn failed: {type(error).__name__}: {error}{_line(error)}. "
            f"The model is exported with inputs derived from eval_input_fn: {self._shapes}. "
            "Mend the function to decide them yourself."
        )

    def _tell_single(self, found: Any) -> None:
        tensors = found.receiver_tensors
        tensors = tensors if isinstance(tensors, dict) else {"input": tensors}
        single = sorted(name for name, one in tensors.items() if _first_dimension(one) == 1)
        if single and not self._told:
            self._told = True
            say(
                f"the exported model takes one example at a time: {', '.join(single)} has a first "
                "dimension of 1 in serving_input_receiver_fn. Write None there to serve batches."
            )


class Shapes:
    """Name, type and shape of the features of a batch."""

    def __init__(self, features: Any) -> None:
        self._single = not isinstance(features, dict)
        named = {"input": features} if self._single else features
        strange = [one for one in named.values() if not hasattr(one, "dtype")]
        self._strange = f"a {type(strange[0]).__name__}" if strange else ""
        self._kinds = {} if strange else {name: _Kind.of(one) for name, one in named.items()}

    def receiver(self) -> Any:
        """Return a receiver of such features.

        Raises:
            Refused: there is none for features of this kind.
        """
        import tensorflow as tf

        if self._strange:
            raise Refused(
                f"serving_input_receiver_fn failed, and eval_input_fn gives {self._strange} as "
                "features, from which no inputs can be derived.",
                hint="Mend serving_input_receiver_fn; the log has its error.",
            )
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
    """A feature without its values: those would keep the whole graph in memory."""

    dtype: Any
    shape: list[int | None] | None  # for batches of any size; None: nothing is known of it
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
    """Return the line of the user's own that failed."""
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
