"""``--use_fp16`` and ``--var_dtype``: what a model computes in, and what it keeps variables in."""

from contextlib import AbstractContextManager
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.executor.flags import get_flag
from moxing.tensorflow.executor.forced_types import var_scope
from moxing.tensorflow.executor.spec import InputSpec

_TYPES = {"": None, "fp32": tf.float32, "fp16": tf.float16}


def computed(inputs: Any) -> Any:
    """Return what ``model_fn`` is given: with ``--use_fp16`` tensors of float32 become float16."""
    if not get_flag("use_fp16"):
        return inputs
    if isinstance(inputs, InputSpec):
        return inputs.with_inputs([computed(each) for each in inputs.inputs])

    def cast(each: Any) -> Any:
        is_float = tf.is_tensor(each) and each.dtype == tf.float32
        return tf.cast(each, tf.float16) if is_float else each

    return tf.nest.map_structure(cast, inputs, expand_composites=True)


def kept() -> AbstractContextManager[None]:
    """Return the scope ``model_fn`` is called in: it makes variables of the type asked for.

    ``--use_fp16`` keeps them in float32, unless ``--var_dtype`` says otherwise.

    Raises:
        ValueError: there is no such type.
    """
    name = get_flag("var_dtype")
    if name not in _TYPES:
        raise ValueError(f"--var_dtype must be fp32 or fp16, got {name!r}.")
    return var_scope(_TYPES[name or ("fp32" if get_flag("use_fp16") else "")])
