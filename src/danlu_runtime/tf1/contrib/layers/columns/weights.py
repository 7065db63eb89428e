"""The variables of columns: made, shared, read from a checkpoint, looked up."""

from collections.abc import Iterable
from typing import Any

import tensorflow.compat.v1 as tf
from tf_slim.layers.layers import _inner_flatten
from tf_slim.ops.variables import model_variable

from danlu_runtime.tf1.contrib.layers.columns.base import _DeepEmbeddingLookupArguments
from danlu_runtime.tf1.contrib.layers.embedding_ops import (
    safe_embedding_lookup_sparse,
    scattered_embedding_lookup_sparse,
)

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
        weights = _shared(shape, args, trainable, weight_collections)
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
    shape: list[int],
    args: _DeepEmbeddingLookupArguments,
    trainable: bool,
    collections: Collections,
) -> Any:
    """Return the variable of a shared embedding; the graph keeps it in a collection."""
    name = args.shared_embedding_name
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
