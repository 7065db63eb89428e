"""The input of the exported model: the user's receiver, or one derived from the data, loudly."""

import traceback
from collections.abc import Callable
from typing import Any

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
        last = traceback.extract_tb(error.__traceback__)[-1]
        say(
            f"serving_input_receiver_fn failed: {type(error).__name__}: {error} "
            f"(line {last.lineno}). The model is exported with inputs derived from eval_input_fn: "
            f"{self._shapes.described()}. Mend the function to decide them yourself."
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
        self._kinds = {
            name: (one.dtype.base_dtype, _without_batch(one)) for name, one in named.items()
        }

    def receiver(self) -> Any:
        import tensorflow as tf

        inputs = {
            name: tf.placeholder(kind, [None, *shape], name=name)
            for name, (kind, shape) in self._kinds.items()
        }
        export = tf.estimator.export
        if self._single:
            return export.TensorServingInputReceiver(inputs["input"], inputs["input"])
        return export.ServingInputReceiver(inputs, inputs)

    def described(self) -> str:
        return ", ".join(
            f"{name} {kind.name}{[None, *shape]}" for name, (kind, shape) in self._kinds.items()
        )


def _without_batch(tensor: Any) -> list[int | None]:
    shape = tensor.shape
    return [] if shape.rank is None else shape.as_list()[1:]


def _first_dimension(tensor: Any) -> int | None:
    shape = getattr(tensor, "shape", None)
    if shape is None or not shape.rank:
        return None
    first: int | None = shape.as_list()[0]
    return first
