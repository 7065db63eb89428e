"""``mox.var_scope``, manual 4.8, and ``version_info``."""

import importlib

import numpy as np
import pytest


@pytest.fixture
def var_scope(tf):
    if tf is None:
        return None
    from moxing.tensorflow.executor.precision import var_scope

    return var_scope


def test_program_of_manual_prints_expected_output(tf, var_scope, capsys):
    """Manual 4.8: a variable of float32 is returned as a tensor of float16."""
    with var_scope(force_dtype=tf.float32):
        a = tf.get_variable("a", shape=[], dtype=tf.float16)

    print(a)
    print(tf.global_variables()[0])

    assert isinstance(a, tf.Tensor)
    assert capsys.readouterr().out.splitlines() == [
        'Tensor("Cast:0", shape=(), dtype=float16)',
        "<tf.Variable 'a:0' shape=() dtype=float32_ref>",
    ]


@pytest.mark.parametrize("resource", [False, True])
def test_what_is_trained_is_the_variable(tf, var_scope, resource):
    with tf.variable_scope("net", use_resource=resource), var_scope(tf.float32):
        w = tf.get_variable("w", initializer=np.array([1, 2], np.float16))
    loss = tf.reduce_sum(w * w)
    step = tf.train.GradientDescentOptimizer(0.25).minimize(loss)

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        (variable,) = tf.trainable_variables()
        assert variable.dtype.base_dtype == tf.float32
        assert loss.dtype == tf.float16
        assert session.run(variable).tolist() == [0.5, 1.0]


def test_scope_that_is_used_again_casts_same_variable(tf, var_scope):
    def layer():
        with var_scope(tf.float32), tf.variable_scope("net", reuse=tf.AUTO_REUSE):
            return tf.get_variable("w", [2], tf.float16)

    first, second = layer(), layer()

    assert first.dtype == second.dtype == tf.float16
    assert [variable.name for variable in tf.global_variables()] == ["net/w:0"]


def test_no_type_changes_nothing(tf, var_scope):
    with var_scope():
        w = tf.get_variable("w", [], tf.float16)

    assert isinstance(w, tf.Variable)
    assert w.dtype.base_dtype == tf.float16


def test_whole_numbers_and_variables_of_type_stay_variables(tf, var_scope):
    with var_scope(tf.float32):
        step = tf.get_variable("step", initializer=np.int64(7), trainable=False)
        same = tf.get_variable("same", [])

    assert (step.dtype.base_dtype, same.dtype.base_dtype) == (tf.int64, tf.float32)
    assert isinstance(step, tf.Variable)
    assert isinstance(same, tf.Variable)


def test_regularization_loss_can_be_added_to_loss(tf, var_scope):
    """The published script: ``loss + tf.add_n(regularization_losses)`` with a loss of float16."""
    ones = tf.ones_initializer()
    with var_scope(tf.float32):
        w = tf.get_variable("w", [4], tf.float16, ones, lambda v: 0.5 * tf.reduce_sum(v * v))

    loss = tf.reduce_sum(w) + tf.add_n(tf.losses.get_regularization_losses())

    assert loss.dtype == tf.float16
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(loss) == 6.0


def test_layers_compute_in_float16_and_train_in_float32(tf, var_scope):
    slim = tf.contrib.slim
    images = tf.ones([2, 4, 4, 3], tf.float16)

    with var_scope(tf.float32):
        with slim.arg_scope([slim.conv2d], weights_regularizer=slim.l2_regularizer(0.1)):
            net = slim.conv2d(images, 5, 3, normalizer_fn=slim.batch_norm)
            net = slim.conv2d(net, 5, 3)
        logits = tf.layers.dense(tf.reduce_mean(net, [1, 2]), 2)
    loss = tf.losses.softmax_cross_entropy(tf.one_hot([0, 1], 2), logits)
    loss += tf.add_n(tf.losses.get_regularization_losses())
    step = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)

    assert logits.dtype == loss.dtype == tf.float16
    assert {variable.dtype.base_dtype for variable in tf.global_variables()} == {tf.float32}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        before = session.run(loss)
        for _ in range(5):
            session.run(step)
        assert session.run(loss) < before


def test_layers_without_a_name_are_counted_on(tf, var_scope):
    with tf.variable_scope("net"):
        for _ in range(2):
            with var_scope(tf.float32):
                tf.layers.dense(tf.ones([1, 2], tf.float16), 2, use_bias=False)

    names = [variable.name for variable in tf.trainable_variables()]
    assert names == ["net/dense/kernel:0", "net/dense_1/kernel:0"]


def test_getter_of_scope_around_is_still_asked(tf, var_scope):
    def doubled(getter, name, *args, **kwargs):
        return getter(f"{name}_of_theirs", *args, **kwargs)

    with tf.variable_scope("net", custom_getter=doubled):
        with var_scope(tf.float32):
            inside = tf.get_variable("w", [], tf.float16)
        outside = tf.get_variable("v", [], tf.float16)

    assert [v.op.name for v in tf.global_variables()] == ["net/w_of_theirs", "net/v_of_theirs"]
    assert isinstance(inside, tf.Tensor)
    assert isinstance(outside, tf.Variable)


def test_a_type_that_cannot_be_trained_is_refused(tf, var_scope):
    with pytest.raises(ValueError, match="must be a floating-point type"), var_scope(tf.int32):
        pass


def test_the_version_is_the_one_the_script_sees(tf):
    from moxing.tensorflow.utils.tf_util import version_info

    assert version_info() == (1, 15, 5)
    assert version_info() >= (1, 13, 0)


def test_names_stay_functions_when_run_has_loaded_everything(tf):
    import moxing.tensorflow as mox

    importlib.import_module("moxing.tensorflow.executor.mox_run")
    importlib.import_module("moxing.tensorflow.executor.precision")

    assert callable(mox.run)
    assert callable(mox.var_scope)
