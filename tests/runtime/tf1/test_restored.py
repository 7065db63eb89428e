"""What scripts of 1.x take from inside TensorFlow, and 2.21 keeps elsewhere."""

import numpy as np


def run(tf, value):
    with tf.Session() as session:
        return session.run(value)


def test_control_flow_is_found_where_it_was(tf):
    from tensorflow.python.ops import array_ops, control_flow_ops

    yes, no = (lambda: tf.constant(1)), (lambda: tf.constant(2))
    loop = control_flow_ops.while_loop(lambda i: i < 5, lambda i: i + 2, [tf.constant(0)])

    assert run(tf, control_flow_ops.cond(tf.constant(False), yes, no)) == 2
    assert run(tf, control_flow_ops.case([(tf.constant(True), yes)], default=no)) == 1
    assert run(tf, loop) == 6
    assert run(tf, array_ops.stack([1, 2])).tolist() == [1, 2]


def test_tensors_and_variables_are_found_where_they_were(tf):
    from tensorflow.python.framework import ops, tensor_shape
    from tensorflow.python.ops import variable_scope, variables
    from tensorflow.python.util import nest

    made = variable_scope.variable([1.0], name="made")

    assert isinstance(made, variables.RefVariable)
    assert tf.global_variables() == [made]
    assert isinstance(tf.constant(1), ops.Tensor)
    assert isinstance(tf.IndexedSlices(tf.zeros([1]), tf.constant([0])), ops.IndexedSlices)
    assert nest.is_sequence([1])
    assert not nest.is_sequence("text")
    assert tensor_shape.matrix(2, 3).as_list() == [2, 3]
    assert tensor_shape.scalar().as_list() == []


def test_a_graph_is_frozen_by_its_old_name(tf):
    from tensorflow.python.framework import graph_util

    weight = tf.get_variable("w", initializer=3.0)
    tf.multiply(weight, 2.0, name="out")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        frozen = graph_util.convert_variables_to_constants(
            session, session.graph.as_graph_def(), ["out"]
        )

    with tf.Graph().as_default():
        (out,) = tf.import_graph_def(frozen, return_elements=["out:0"])
        assert run(tf, out) == 6.0


def test_batch_normalization_layers_are_found(tf):
    from tensorflow.python.layers import normalization

    out = normalization.BatchNormalization(epsilon=0.0)(tf.constant([[1.0], [3.0]]), training=True)

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert np.allclose(session.run(out), [[-1], [1]])


def test_nothing_that_is_there_is_replaced(tf):
    from tensorflow.python.ops import control_flow_ops

    from danlu_runtime.tf1 import removed_api

    def mine(*args):
        return args

    control_flow_ops.cond = mine
    removed_api.restore()

    assert control_flow_ops.cond is mine


def test_scikit_learn_is_loaded_for_its_loss(tf):
    import sys

    slim = tf.contrib.slim
    assert "sklearn" not in sys.modules

    score = slim.losses.metric_learning.compute_clustering_score(
        tf.constant([0, 0, 1, 1]), tf.constant([5, 5, 7, 7]), "nmi"
    )

    assert run(tf, score) == 1.0
    assert "sklearn.metrics" in sys.modules
