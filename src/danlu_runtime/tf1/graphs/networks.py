"""Functions of ``tf.nn``: the operations that TensorFlow 1.15 created for them."""

from typing import Any

import numpy as np
from tensorflow.python.eager import context
from tensorflow.python.framework import constant_op, dtypes, ops, sparse_tensor, tensor_util
from tensorflow.python.ops import (
    array_ops,
    embedding_ops,
    gen_nn_ops,
    math_ops,
    nn_ops,
    random_ops,
    variables,
)
from tensorflow.python.platform import tf_logging as logging
from tensorflow.python.util import deprecation


def dropout(
    x: Any,
    keep_prob: Any = None,
    noise_shape: Any = None,
    seed: int | None = None,
    name: str | None = None,
    rate: Any = None,
) -> Any:
    """Set values to zero, each with the probability ``rate`` or ``1 - keep_prob``."""
    try:
        keep = 1.0 - keep_prob if keep_prob is not None else None
    except TypeError:
        raise ValueError(
            f"keep_prob must be a floating point number or Tensor (got {keep_prob!r})"
        ) from None
    rate = deprecation.deprecated_argument_lookup("rate", rate, "keep_prob", keep)
    if rate is None:
        raise ValueError("You must provide a rate to dropout.")
    return dropout_v2(x, rate, noise_shape=noise_shape, seed=seed, name=name)


def dropout_v2(
    x: Any,
    rate: Any,
    noise_shape: Any = None,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Set values to zero with the probability ``rate``, and scale up the other values.

    TensorFlow 2 computes the scale in Python and selects instead of multiplying.
    """
    with ops.name_scope(name, "dropout", [x]) as name:
        x = ops.convert_to_tensor(x, name="x")
        if not x.dtype.is_floating:
            raise ValueError(
                "x has to be a floating point tensor since it's going to be scaled. "
                f"Got a {x.dtype} tensor instead."
            )
        if isinstance(rate, float | int | np.number):
            if not 0 <= rate < 1:
                raise ValueError(
                    f"rate must be a scalar tensor or a float in the range [0, 1), got {rate:g}"
                )
            if rate > 0.5:
                logging.log_first_n(
                    logging.WARN,
                    "Large dropout rate: %g (>0.5). In TensorFlow 2.x, dropout() uses dropout "
                    "rate instead of keep_prob. Please ensure that this is intended.",
                    5,
                    rate,
                )
            if rate == 0:
                return x
        if not context.executing_eagerly():
            rate = ops.convert_to_tensor(rate, dtype=x.dtype, name="rate")
            rate.get_shape().assert_has_rank(0)
            if tensor_util.constant_value(rate) == 0:
                return x
        noise_shape = nn_ops._get_noise_shape(x, noise_shape)
        values = random_ops.random_uniform(noise_shape, seed=seed, dtype=x.dtype)
        scale = 1 / (1 - rate)
        mask = values >= rate
        result = x * scale * math_ops.cast(mask, x.dtype)
        if not context.executing_eagerly():
            result.set_shape(x.get_shape())
        return result


_SMALLEST_EPSILON = 1.001e-5  # of cuDNN, which TensorFlow 1.15 used on every device


def fused_batch_norm(
    x: Any,
    scale: Any,
    offset: Any,
    mean: Any = None,
    variance: Any = None,
    epsilon: float = 0.001,
    data_format: str = "NHWC",
    is_training: bool = True,
    name: str | None = None,
    exponential_avg_factor: float = 1.0,
) -> Any:
    """Normalize a batch, and return it with its mean and its variance."""
    x = ops.convert_to_tensor(x, name="input")
    scale = ops.convert_to_tensor(scale, name="scale")
    offset = ops.convert_to_tensor(offset, name="offset")
    if is_training and (mean is not None or variance is not None) and exponential_avg_factor == 1.0:
        raise ValueError("Both 'mean' and 'variance' must be None if is_training is True.")
    if mean is None:
        mean = constant_op.constant([])
    if variance is None:
        variance = constant_op.constant([])
    return gen_nn_ops.fused_batch_norm_v3(
        x,
        scale,
        offset,
        mean,
        variance,
        epsilon=max(epsilon, _SMALLEST_EPSILON),
        exponential_avg_factor=exponential_avg_factor,
        data_format=data_format,
        is_training=is_training,
        name=name,
    )[:3]


def embedding_lookup_sparse(
    params: Any,
    sp_ids: Any,
    sp_weights: Any,
    partition_strategy: str = "mod",
    name: str | None = None,
    combiner: str | None = None,
    max_norm: float | None = None,
    allow_fast_lookup: bool = False,
) -> Any:
    """Combine the embeddings of each row; every different one is looked up once."""
    if combiner is None:
        logging.warning(
            'The default value of combiner will change from "mean" to "sqrtn" after 2016/11/01.'
        )
        combiner = "mean"
    if combiner not in ("mean", "sqrtn", "sum"):
        raise ValueError("combiner must be one of 'mean', 'sqrtn' or 'sum'")
    if isinstance(params, variables.PartitionedVariable):
        params = list(params)
    if not isinstance(params, list):
        params = [params]
    if not isinstance(sp_ids, sparse_tensor.SparseTensor):
        raise TypeError("sp_ids must be SparseTensor")
    if sp_weights is not None:
        if not isinstance(sp_weights, sparse_tensor.SparseTensor):
            raise TypeError("sp_weights must be either None or SparseTensor")
        for part in ("values", "indices", "dense_shape"):
            shape = getattr(sp_ids, part).get_shape()
            shape.assert_is_compatible_with(getattr(sp_weights, part).get_shape())
    with ops.name_scope(name, "embedding_lookup_sparse", [*params, sp_ids]) as name:
        segments = sp_ids.indices[:, 0]
        if segments.dtype != dtypes.int32:
            segments = math_ops.cast(segments, dtypes.int32)
        ids, positions = array_ops.unique(sp_ids.values)
        embeddings = embedding_ops.embedding_lookup(
            params, ids, partition_strategy=partition_strategy, max_norm=max_norm
        )
        if embeddings.dtype in (dtypes.float16, dtypes.bfloat16):
            embeddings = math_ops.cast(embeddings, dtypes.float32)
        if sp_weights is None:
            combine = {
                "sum": math_ops.sparse_segment_sum,
                "mean": math_ops.sparse_segment_mean,
                "sqrtn": math_ops.sparse_segment_sqrt_n,
            }[combiner]
            return combine(embeddings, positions, segments, name=name)
        weights = sp_weights.values
        if weights.dtype != embeddings.dtype:
            weights = math_ops.cast(weights, embeddings.dtype)
        embeddings = array_ops.gather(embeddings, positions)
        weights = _with_rank_of(embeddings, weights)
        embeddings *= weights
        if combiner == "sum":
            return math_ops.segment_sum(embeddings, segments, name=name)
        embeddings = math_ops.segment_sum(embeddings, segments)
        if combiner == "mean":
            divisor = math_ops.segment_sum(weights, segments)
        else:
            divisor = math_ops.sqrt(math_ops.segment_sum(math_ops.pow(weights, 2), segments))
        return math_ops.div(embeddings, divisor, name=name)


def _with_rank_of(embeddings: Any, weights: Any) -> Any:
    ones = array_ops.fill(array_ops.expand_dims(array_ops.rank(embeddings) - 1, 0), 1)
    shape = array_ops.concat([array_ops.shape(weights), ones], 0)
    known = weights.get_shape()
    weights = array_ops.reshape(weights, shape)
    rank = embeddings.get_shape().ndims
    if rank is not None:
        weights.set_shape(known.concatenate([1] * (rank - 1)))
    return weights


FUNCTIONS: dict[str, Any] = {
    "ops.nn_ops.dropout": dropout,
    "ops.nn_ops.dropout_v2": dropout_v2,
    "ops.nn_impl.fused_batch_norm": fused_batch_norm,
    "ops.embedding_ops.embedding_lookup_sparse": embedding_lookup_sparse,
}
