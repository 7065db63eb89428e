"""Optimizers by name: manual 5.1."""

import numpy as np
import pytest

NAMES = ["adadelta", "adagrad", "adam", "ftrl", "momentum", "rmsprop", "sgd"]


def get(*args, **kwargs):
    from moxing.tensorflow.optimizer import get_optimizer_fn

    return get_optimizer_fn(*args, **kwargs)


def test_names_are_in_class_that_needs_no_tensorflow():
    from moxing.tensorflow.optimizer import OptimizerKeys, OptimizerWrapperKeys

    names = [value for name, value in vars(OptimizerKeys).items() if name.isupper()]
    assert names == NAMES
    assert OptimizerKeys.ADAM == "adam"
    assert OptimizerWrapperKeys.BATCH_GRADIENTS == "batch_gradients"


@pytest.mark.parametrize(
    ("name", "kind", "options"),
    [
        ("adadelta", "Adadelta", {"rho": 0.9, "epsilon": 1e-6}),
        ("adagrad", "Adagrad", {"initial_accumulator_value": 0.2}),
        ("adam", "Adam", {"beta1": 0.8, "beta2": 0.9, "epsilon": 0.1}),
        ("ftrl", "Ftrl", {"learning_rate_power": -0.4, "l1_regularization_strength": 0.01}),
        ("momentum", "Momentum", {"momentum": 0.7, "use_nesterov": True}),
        ("rmsprop", "RMSProp", {"decay": 0.8, "momentum": 0.3, "epsilon": 0.1}),
        ("sgd", "GradientDescent", {}),
    ],
)
def test_every_name_trains_as_its_class_does(tf, steps, gradients, kinds, name, kind, options):
    for each in kinds:
        mine = steps(tf, get(name, 0.1, **options)(), **each)
        theirs = getattr(tf.train, f"{kind}Optimizer")(0.1, **options)
        expected = steps(tf, theirs, **each)

        np.testing.assert_array_equal(mine(*gradients), expected(*gradients), str(each))


def test_momentum_without_one_is_point_nine(tf, steps, gradients):
    mine = steps(tf, get("momentum", learning_rate=0.1)())
    expected = steps(tf, tf.train.MomentumOptimizer(0.1, 0.9))

    np.testing.assert_array_equal(mine(*gradients), expected(*gradients))


def test_what_follows_the_scope_is_the_classes(tf, steps, gradients):
    mine = steps(tf, get("momentum", 0.1, "scope", 0.5)())
    expected = steps(tf, tf.train.MomentumOptimizer(0.1, 0.5))

    np.testing.assert_array_equal(mine(*gradients), expected(*gradients))


def test_optimizer_is_made_in_graph_of_call(tf):
    optimizer_fn = get("sgd", lambda: tf.constant(0.5, name="rate"), scope="mine")

    with tf.Graph().as_default() as graph:
        w = tf.get_variable("w", initializer=1.0)
        optimizer_fn().minimize(w * w)

    assert graph.get_operation_by_name("GradientDescent/rate")


def test_the_rate_may_be_a_tensor(tf, steps):
    after = steps(tf, get("sgd", tf.constant(0.5))())(np.ones([3, 2]))

    np.testing.assert_allclose(after[0], steps(tf, get("sgd", 0.5)())(np.ones([3, 2]))[0])


@pytest.mark.parametrize(
    ("args", "options", "kind", "sentence"),
    [
        (["adm", 0.1], {}, ValueError, "no optimizer named 'adm'. Did you mean 'adam'"),
        (["lamb", 0.1], {}, ValueError, "Known: adadelta, adagrad, adam, ftrl, momentum"),
        (["adam", 0.1], {"momentum": 0.9}, TypeError, "AdamOptimizer takes learning_rate, beta1"),
        (["sgd", "0.1"], {}, TypeError, "learning_rate must be a number or a tensor, got '0.1'"),
        (["sgd", None], {}, TypeError, "learning_rate must be a number or a tensor, got None"),
    ],
)
def test_bad_arguments_are_reported_before_anything_is_made(tf, args, options, kind, sentence):
    with pytest.raises(kind, match=sentence):
        get(*args, **options)
