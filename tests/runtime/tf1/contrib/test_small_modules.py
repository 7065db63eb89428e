"""Modules of tf.contrib that TensorFlow 2.21 still has in another place, and a short one."""

import pytest


def test_gradients_of_several_towers_are_summed(tf):
    from tensorflow.contrib.all_reduce.python import all_reduce

    towers = [tf.constant([1.0, 2.0]), tf.constant([10.0, 20.0])]

    summed = all_reduce.build_shuffle_all_reduce(towers, ["/cpu:0"], tf.add_n)

    with tf.Session() as session:
        assert [value.tolist() for value in session.run(summed)] == [[11, 22], [11, 22]]


def test_sums_across_gpus_are_built(tf):
    from tensorflow.contrib import nccl

    with pytest.raises(ValueError, match="Must pass >0 tensors"):
        nccl.all_sum([])


def test_objects_are_kept_and_restored(tf, tmp_path):
    weight = tf.Variable(1.0)
    kept = tf.contrib.checkpoint.Checkpoint(parts=tf.contrib.checkpoint.List([weight]))
    with tf.Session() as session:
        session.run(weight.initializer)
        path = kept.save(str(tmp_path / "kept"), session=session)
        session.run(weight.assign(5.0))
        kept.restore(path).run_restore_ops(session)
        assert session.run(weight) == 1.0


def test_a_computation_is_copied_with_its_variables(tf):
    weight = tf.Variable(3.0, name="weight")
    doubled = tf.multiply(weight, 2.0, name="doubled")
    other = tf.Graph()

    copied = tf.contrib.copy_graph.copy_variable_to_graph(weight, other)
    result = tf.contrib.copy_graph.copy_op_to_graph(doubled, other, [copied])

    with tf.Session(graph=other) as session:
        session.run(copied.initializer)
        assert session.run(result) == 6.0
    assert tf.contrib.copy_graph.get_copied_op(doubled, other) is result


def test_a_computation_is_compiled_as_one_program(tf):
    from tensorflow.contrib.compiler import xla

    (product,) = xla.compile(lambda x: x * 3, [tf.constant(14)])

    with tf.Session() as session:
        assert session.run(product) == 42
    with pytest.raises(AttributeError, match=r"Call xla\.compile"):
        _ = xla.estimator_model_fn
