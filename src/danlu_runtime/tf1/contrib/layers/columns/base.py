"""What every feature column of ``tf.contrib.layers`` is."""

from collections.abc import Iterable, MutableMapping
from typing import Any, NamedTuple

import tensorflow.compat.v1 as tf
from tf_slim.layers.layers import _inner_flatten

Tensor = tf.Tensor | tf.SparseTensor
Tensors = MutableMapping[Any, Any]  # of features by name, and of columns once transformed


class _LinearEmbeddingLookupArguments(NamedTuple):
    """How a linear model looks a column up."""

    input_tensor: tf.SparseTensor
    weight_tensor: tf.SparseTensor | None
    vocab_size: int
    initializer: Any
    combiner: str


class _DeepEmbeddingLookupArguments(NamedTuple):
    """How an input layer looks a column up."""

    input_tensor: tf.SparseTensor
    weight_tensor: tf.SparseTensor | None
    vocab_size: int
    initializer: Any
    combiner: str
    dimension: int
    shared_embedding_name: str | None
    hash_key: int | None
    max_norm: float | None
    trainable: bool


class _FeatureColumn:
    """Base of all. ``key`` tells columns apart, ``name`` names their variables."""

    _fields: tuple[str, ...]  # of the namedtuple each of them is

    @property
    def name(self) -> str:
        raise NotImplementedError

    @property
    def config(self) -> dict[str, Any]:
        """What to parse from an example, by feature name."""
        raise NotImplementedError

    @property
    def key(self) -> str:
        return str(self)

    @property
    def _parse_example_spec(self) -> dict[str, Any]:
        return self.config

    def insert_transformed_feature(self, columns_to_tensors: Tensors) -> None:
        """Put this column's own tensor among the tensors, under the column itself."""
        columns_to_tensors[self] = self._transform_feature(_Transformed(columns_to_tensors))

    def _transform_feature(self, inputs: Any) -> Any:
        raise NotImplementedError(f"Transform is not implemented for {self}.")

    def _to_dnn_input_layer(
        self,
        input_tensor: Any,
        weight_collections: Iterable[str] | None = None,
        trainable: bool = True,
        output_rank: int = 2,
    ) -> tf.Tensor:
        raise ValueError("Calling an abstract method.")

    def _deep_embedding_lookup_arguments(self, input_tensor: Any) -> _DeepEmbeddingLookupArguments:
        raise NotImplementedError(f"No deep embedding lookup arguments for column {self}.")

    def _wide_embedding_lookup_arguments(
        self, input_tensor: Any
    ) -> _LinearEmbeddingLookupArguments:
        raise NotImplementedError(f"No wide embedding lookup arguments for column {self}.")

    def _to_dense_tensor(self, input_tensor: Any) -> tf.Tensor:
        raise NotImplementedError(f"No dense tensor representation for column {self}.")

    def _checkpoint_path(self) -> tuple[str, str] | None:
        return None

    def _key_without_properties(self, properties: Iterable[str]) -> str:
        """Functions have no text that stays the same: the key leaves them out."""
        left = [name for name in self._fields if name not in properties]
        values = ", ".join(f"{name}={getattr(self, name)}" for name in left)
        return f"{type(self).__name__}({values})"


class _Transformed:
    """Gives a feature by name, or a column's tensor, which is made when first asked for."""

    def __init__(self, columns_to_tensors: Tensors) -> None:
        self._tensors = columns_to_tensors

    def get(self, key: Any) -> Any:
        if key in self._tensors:
            return self._tensors[key]
        if isinstance(key, str):
            raise ValueError(f"features dictionary doesn't contain key ({key})")
        if not isinstance(key, _FeatureColumn):
            raise TypeError(f'"key" must be either a "str" or "_FeatureColumn". Provided: {key}')
        key.insert_transformed_feature(self._tensors)
        return self._tensors[key]


def _reshape_real_valued_tensor(
    input_tensor: tf.Tensor, output_rank: int, column_name: str | None = None
) -> tf.Tensor:
    rank = input_tensor.get_shape().ndims
    if rank == output_rank:
        return input_tensor
    if rank is not None and output_rank == rank + 1:
        return tf.expand_dims(input_tensor, -1, name="expand_dims")
    if rank is not None and output_rank > rank + 1:
        where = "" if column_name is None else f"Error while processing column {column_name}."
        raise ValueError(
            f"{where}Rank of input Tensor ({rank}) should be the same as output_rank "
            f"({output_rank}). For example, sequence data should typically be 3 dimensional "
            "(rank 3) while non-sequence data is typically 2 dimensional (rank 2)."
        )
    return _inner_flatten(input_tensor, output_rank)


def is_number(dtype: tf.DType) -> bool:
    return bool(dtype.is_integer or dtype.is_floating)
