"""The graph of one run, which records the number of the clone while a model is built."""

from typing import Any

import tensorflow.compat.v1 as tf

# Variables belong to all clones: each of them sees the whole model.
_SHARED = (
    *(tf.GraphKeys.GLOBAL_VARIABLES, tf.GraphKeys.LOCAL_VARIABLES, tf.GraphKeys.MODEL_VARIABLES),
    *(tf.GraphKeys.TRAINABLE_VARIABLES, tf.GraphKeys.GLOBAL_STEP),
    *(tf.GraphKeys.MOVING_AVERAGE_VARIABLES, tf.GraphKeys.WEIGHTS, tf.GraphKeys.BIASES),
)


class RunGraph(tf.Graph):
    """A graph with collections that can be read for a single clone."""

    def __init__(self) -> None:
        super().__init__()
        self._clone: int | None = None  # the one model_fn is called for
        self._before: dict[str, int] = {}  # length of each collection before it
        self._other_modes: set[int] = set()  # ids of what earlier modes have collected
        # Regularization losses of variables, from the first call of model_fn; None until it ends.
        self._shared_losses: list[Any] | None = None
        self._hinted = False

    @property
    def makes_variables(self) -> bool:
        """True in the first call of model_fn; later calls reuse its variables."""
        return self._clone is not None and self._shared_losses is None

    def begin_mode(self) -> None:
        """Hide from readers of a collection what earlier modes have added.

        A training loss in the sum of an evaluation would read training data.
        """
        self._other_modes = {
            id(each)
            for key in self.get_all_collection_keys()
            for each in self.get_collection_ref(key)
            if isinstance(each, tf.Tensor | tf.Operation)
        }

    def begin_clone(self, clone: int) -> None:
        self._clone = clone
        self._before = {
            key: len(self.get_collection_ref(key)) for key in self.get_all_collection_keys()
        }

    def end_clone(self) -> None:
        self._clone, self._before = None, {}

    def share_losses(self, inputs: list[Any]) -> None:
        """Keep the regularization losses of variables of the first call for later clones and modes.

        A variable is regularized when it is created, and later calls of model_fn reuse it.
        """
        if self._shared_losses is not None:
            return
        of_clone = self.of_clone(tf.GraphKeys.REGULARIZATION_LOSSES)
        fed = {tensor.op for tensor in inputs}
        self._shared_losses = [loss for loss in of_clone if not _depends(loss.op, fed)]

    def of_clone(self, key: str) -> list[Any]:
        """Return the part of a collection that the current clone has added."""
        everything = super().get_collection(key)
        if self._clone is None or key in _SHARED:
            return everything
        own = everything[self._before.get(key, 0) :]
        if key == tf.GraphKeys.REGULARIZATION_LOSSES and self._shared_losses is not None:
            return [*self._shared_losses, *own]
        return own

    def get_collection(self, name: str, scope: str | None = None) -> list[Any]:
        found: list[Any] = super().get_collection(name, scope)
        if self._clone is None:
            return found
        if self._clone and name == tf.GraphKeys.REGULARIZATION_LOSSES:
            self._hint()
        if name == tf.GraphKeys.LOSSES:  # tf.losses sums this collection
            own = {id(each) for each in self.of_clone(name)}
            return [each for each in found if id(each) in own]
        hidden = self._other_modes - {id(each) for each in self._shared_losses or ()}
        return [each for each in found if id(each) not in hidden]

    def _hint(self) -> None:
        if not self._hinted:
            self._hinted = True
            tf.logging.warning(
                "tf.get_collection in model_fn sees the regularisation of all clones: use "
                "mox.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)."
            )


def _depends(operation: Any, on: set[Any]) -> bool:
    seen, todo = {operation}, [operation]
    while todo:
        current = todo.pop()
        if current in on:
            return True
        for before in (*(tensor.op for tensor in current.inputs), *current.control_inputs):
            if before not in seen:
                seen.add(before)
                todo.append(before)
    return False
