"""The base of the feature columns of ``tf.contrib.layers``, and their variables.

The columns are older than ``tf.feature_column``. They keep their names, fields and keys, because
input layers are put together in the order of the keys. They follow the protocols of
``tf.feature_column`` too, so ``input_layer`` and the estimators accept them.
"""

from collections.abc import Iterable, MutableMapping
from typing import Any, NamedTuple

import tensorflow.compat.v1 as tf
from tf_slim.layers.layers import _inner_flatten
from tf_slim.ops.variables import model_variable

from danlu_runtime.tf1.contrib.layers.embedding_ops import (
    safe_embedding_lookup_sparse,
    scattered_embedding_lookup_sparse,
)

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
    """Base of all. ``key`` distinguishes columns, ``name`` names their variables."""

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
        column: Any = self  # every column is a namedtuple too
        left = [name for name in column._fields if name not in properties]
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


# The variables of columns: made, shared, read from a checkpoint, looked up.


Collections = Iterable[str] | None


def _embeddings_from_arguments(
    column: Any,
    args: _DeepEmbeddingLookupArguments,
    weight_collections: Collections,
    trainable: bool,
    output_rank: int = 2,
) -> tf.Tensor:
    """Return the embedded column; its variable is made in the scope of the caller."""
    ids = _inner_flatten(args.input_tensor, output_rank)
    trainable = trainable and args.trainable
    if args.hash_key:
        weights = _weights("weights", [args.vocab_size], args, trainable, weight_collections)
        return scattered_embedding_lookup_sparse(
            weights,
            ids,
            args.dimension,
            hash_key=args.hash_key,
            combiner=args.combiner,
            name="lookup",
        )
    per_id = args.weight_tensor
    shape = [args.vocab_size, args.dimension]
    if args.shared_embedding_name is None:
        weights = _weights("weights", shape, args, trainable, weight_collections)
    else:
        name = args.shared_embedding_name
        weights = _shared(name, shape, args, trainable, weight_collections)
    parts = parts_of(weights)
    _maybe_restore_from_checkpoint(column._checkpoint_path(), parts)
    return safe_embedding_lookup_sparse(
        parts,
        ids,
        sparse_weights=None if per_id is None else _inner_flatten(per_id, output_rank),
        combiner=args.combiner,
        name=f"{column.name}weights",
        max_norm=args.max_norm,
    )


def _weights(
    name: str,
    shape: list[int],
    args: _DeepEmbeddingLookupArguments,
    trainable: bool,
    collections: Collections,
) -> Any:
    return model_variable(
        name=name,
        shape=shape,
        dtype=tf.float32,
        initializer=args.initializer,
        trainable=trainable,
        collections=collections,
    )


def _shared(
    name: str,
    shape: list[int],
    args: _DeepEmbeddingLookupArguments,
    trainable: bool,
    collections: Collections,
) -> Any:
    """Return the variable of a shared embedding; the graph keeps it in a collection."""
    collection = f"SHARED_EMBEDDING_COLLECTION_{name.upper()}"
    made = tf.get_collection_ref(collection)
    if not made:
        made.append(_weights(name, shape, args, trainable, collections))
    if len(made) > 1:
        raise ValueError(f"Collection {collection} can only contain one (partitioned) variable.")
    if made[0].get_shape() != shape:
        raise ValueError(
            f"The embedding variable with name {name} already exists, but its shape does not "
            "match required embedding shape here. Please make sure to use different "
            "shared_embedding_name for different shared embeddings."
        )
    return made[0]


def parts_of(variable: Any) -> list[Any]:
    """Return the parts of a partitioned variable, or the variable as the only one."""
    if hasattr(variable, "_get_variable_list"):
        return variable._get_variable_list()
    return [variable]


def _maybe_restore_from_checkpoint(
    checkpoint_path: tuple[str, str] | None, variable: list[Any]
) -> None:
    if checkpoint_path is not None:
        path, name = checkpoint_path
        target = variable[0] if len(variable) == 1 else variable
        tf.train.init_from_checkpoint(path, {name: target})
