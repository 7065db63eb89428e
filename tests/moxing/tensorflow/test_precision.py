"""``--use_fp16`` and ``--var_dtype``."""

import pytest

from moxing.tensorflow.utils.hyper_param_flags import mox_flags


@pytest.fixture
def precision(tf):
    if tf is None:
        return None
    from moxing.tensorflow.executor import precision

    mox_flags.forget()
    return precision


def made(tf, precision):
    """Return the types of a variable and of what a model computes with it."""
    (x,) = precision.computed([tf.ones([2, 2])])
    with precision.kept():
        w = tf.get_variable("w", [2, 2], x.dtype)
    return tf.global_variables()[0].dtype.base_dtype, tf.matmul(x, w).dtype


@pytest.mark.parametrize(
    ("flags", "types"),
    [
        ({}, ("float32", "float32")),
        ({"use_fp16": True}, ("float32", "float16")),
        ({"use_fp16": True, "var_dtype": "fp16"}, ("float16", "float16")),
        ({"var_dtype": "fp16"}, ("float16", "float32")),
        ({"var_dtype": "fp32"}, ("float32", "float32")),
    ],
)
def test_variables_and_model_have_requested_types(tf, precision, flags, types):
    for name, value in flags.items():
        setattr(mox_flags, name, value)

    assert made(tf, precision) == tuple(getattr(tf, name) for name in types)


def test_only_floating_point_inputs_are_cast(tf, precision):
    mox_flags.use_fp16 = True
    labels, names = tf.constant([1]), tf.constant(["a"])

    found = precision.computed([tf.ones([1]), labels, {"name": names}])

    assert type(found) is list
    assert found[0].dtype == tf.float16
    assert found[1] is labels
    assert found[2]["name"] is names


def test_numbered_inputs_are_cast_too(tf, precision):
    from moxing.tensorflow.executor.spec import InputSpec

    mox_flags.use_fp16 = True
    inputs = InputSpec()
    inputs.new_input([tf.ones([1])])

    assert precision.computed(inputs).get_input(0)[0].dtype == tf.float16


def test_another_type_is_reported(tf, precision):
    mox_flags.var_dtype = "int8"

    with pytest.raises(ValueError, match="--var_dtype must be fp32 or fp16, got 'int8'"):
        precision.kept()
