"""The return value of ``input_fn``: tensors in a list or dict, each with a name for messages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.util import nest

_TENSORS = (tf.Tensor, tf.SparseTensor, tf.RaggedTensor)


@dataclass(frozen=True)
class Inputs:
    """The structure that ``model_fn`` receives, and its tensors as a flat list.

    Most of ``values`` are plain tensors. A sparse or ragged value consists of several ``tensors``.
    """

    structure: Any
    names: list[str]
    values: list[Any]

    @classmethod
    def of(cls, returned: Any) -> "Inputs":
        structure = _structure(returned)
        found = nest.flatten_with_tuple_paths(structure)
        graph = tf.get_default_graph()
        for path, value in found:
            if not isinstance(value, _TENSORS):
                raise TypeError(_not_a_tensor(value, path))
            if any(part.graph is not graph for part in _parts(value)):
                raise ValueError(
                    f"input {_name(path)} of input_fn belongs to another graph: "
                    "input_fn must make its tensors itself, each time it is called."
                )
        return cls(structure, [_name(path) for path, _ in found], [value for _, value in found])

    @property
    def tensors(self) -> list[tf.Tensor]:
        return _parts(self.values)

    @property
    def plain(self) -> bool:
        return all(isinstance(value, tf.Tensor) for value in self.values)

    @property
    def padded(self) -> bool:
        """True if elements may differ in length."""
        plain = [value for value in self.values if isinstance(value, tf.Tensor)]
        return any(v.shape.rank == 1 and not v.shape.is_fully_defined() for v in plain)

    def pack(self, values: Sequence[Any]) -> Any:
        """Return other values in the same structure."""
        return nest.pack_sequence_as(self.structure, list(values))

    def whole(self, tensors: Sequence[tf.Tensor]) -> list[Any]:
        """Return the values that consist of these tensors, given in the order of ``tensors``."""
        packed: list[Any] = nest.pack_sequence_as(
            self.values, list(tensors), expand_composites=True
        )
        return [_shaped(value, like) for value, like in zip(packed, self.values, strict=True)]

    def check_shapes(self) -> None:
        """Raise one ValueError for all inputs that cannot be stacked."""
        faults = [
            f"input {name} of input_fn has shape {_shown(value.shape)}; auto_batch needs a fully "
            "known shape: resize and set_shape"
            for name, value in zip(self.names, self.values, strict=True)
            if isinstance(value, tf.Tensor) and not _stackable(value.shape)
        ]
        if self.padded and not self.plain:
            faults.append(
                "input_fn returned sequences of differing length beside sparse or ragged tensors; "
                "auto_batch cannot pad the ones and stack the others: batch them yourself and "
                "pass auto_batch=False"
            )
        if faults:
            raise ValueError("\n".join(faults))


def _parts(values: Any) -> list[tf.Tensor]:
    return nest.flatten(values, expand_composites=True)


def _structure(returned: Any) -> Any:
    if isinstance(returned, tf.data.Dataset | tf.compat.v2.data.Dataset):
        returned = tf.data.make_initializable_iterator(returned).get_next()
    if isinstance(returned, tf.Tensor | tf.SparseTensor | tf.RaggedTensor):
        return [returned]
    if isinstance(returned, Mapping):
        return returned
    if isinstance(returned, list | tuple):
        return list(returned)
    raise TypeError(_not_a_tensor(returned, ()))


def _not_a_tensor(value: Any, path: tuple[Any, ...]) -> str:
    kind = type(value).__name__
    message = f"input_fn must return tf.Tensor or a list of tf.Tensor, got {kind}"
    if path:
        message += f" at position {_name(path)}"
    if value is None and not path:
        message += ": does it end without 'return'?"
    return message


def _name(path: tuple[Any, ...]) -> str:
    first, *inner = path
    return repr(first) + "".join(f"[{key!r}]" for key in inner)


def _stackable(shape: tf.TensorShape) -> bool:
    # A sequence may vary in length. Texts of the manual, section 4.7, are padded with zeros.
    return shape.is_fully_defined() or shape.rank == 1


def _shown(shape: tf.TensorShape) -> str:
    """Return a shape in the notation of TensorFlow 1."""
    if shape.rank is None:
        return "<unknown>"
    inner = ", ".join("?" if size is None else str(size) for size in shape.as_list())
    return f"({inner},)" if shape.rank == 1 else f"({inner})"


def _shaped(value: Any, like: Any) -> Any:
    """Restore the shape of a sparse value, which its parts have lost."""
    if not isinstance(value, tf.SparseTensor) or not like.shape.is_fully_defined():
        return value
    sizes = tf.constant(like.shape.as_list(), tf.int64)
    return tf.SparseTensor(value.indices, value.values, sizes)


@dataclass(frozen=True)
class Made:
    """The values of each clone, in the order of ``Inputs.values``; the rest as in ``Batches``."""

    per_clone: list[list[Any]]
    initializer: tf.Operation | None = None
    left_over: tf.Tensor | None = None
