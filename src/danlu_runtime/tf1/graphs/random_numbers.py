"""Random numbers: the operations that TensorFlow 1.15 created for them."""

from typing import Any

import numpy as np
from tensorflow.python.framework import dtypes, ops, random_seed
from tensorflow.python.ops import array_ops, gen_random_ops, math_ops, shape_util

_UNIFORM = (
    dtypes.float16,
    dtypes.bfloat16,
    dtypes.float32,
    dtypes.float64,
    dtypes.int32,
    dtypes.int64,
)


def random_uniform(
    shape: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Return uniform random values.

    TensorFlow 2 leaves out the bounds and the arithmetic where the range is [0, 1).
    """
    dtype = dtypes.as_dtype(dtype)
    if dtype not in _UNIFORM:
        raise ValueError(f"Invalid dtype {dtype!r}")
    if maxval is None:
        if dtype.is_integer:
            raise ValueError(f"Must specify maxval for integer dtype {dtype!r}")
        maxval = 1
    with ops.name_scope(name, "random_uniform", [shape, minval, maxval]) as name:
        shape = shape_util.shape_tensor(shape)
        minval = ops.convert_to_tensor(minval, dtype=dtype, name="min")
        maxval = ops.convert_to_tensor(maxval, dtype=dtype, name="max")
        seed1, seed2 = random_seed.get_seed(seed)
        if dtype.is_integer:
            result = gen_random_ops.random_uniform_int(
                shape, minval, maxval, seed=seed1, seed2=seed2, name=name
            )
        else:
            values = gen_random_ops.random_uniform(shape, dtype, seed=seed1, seed2=seed2)
            result = math_ops.add(values * (maxval - minval), minval, name=name)
        shape_util.maybe_set_static_shape(result, shape)
        return result


def random_gamma(
    shape: Any,
    alpha: Any,
    beta: Any = None,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Return values of gamma distributions, broadcast by an addition of zeros."""
    with ops.name_scope(name, "random_gamma", [shape, alpha, beta]):
        shape = ops.convert_to_tensor(shape, name="shape", dtype=dtypes.int32)
        alpha = ops.convert_to_tensor(alpha, name="alpha", dtype=dtype)
        beta = ops.convert_to_tensor(beta if beta is not None else 1, name="beta", dtype=dtype)
        broadcast = alpha + array_ops.zeros_like(beta)
        seed1, seed2 = random_seed.get_seed(seed)
        result = math_ops.maximum(
            np.finfo(alpha.dtype.as_numpy_dtype).tiny,
            gen_random_ops.random_gamma(shape, broadcast, seed=seed1, seed2=seed2) / beta,
        )
        shape_util.maybe_set_static_shape(result, shape)
        return result


FUNCTIONS: dict[str, Any] = {
    "ops.random_ops.random_uniform": random_uniform,
    "ops.random_ops.random_gamma": random_gamma,
}
