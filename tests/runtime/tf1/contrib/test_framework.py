"""tf.contrib.framework: variables, checkpoints, checks on tensors."""

import numpy as np
import pytest


def run(tf, value, feed=None):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(value, feed)


def saved(tf, folder, **values):
    """Write a checkpoint with these variables and return its path."""
    with tf.Graph().as_default(), tf.Session() as session:
        for name, value in values.items():
            tf.get_variable(name, initializer=tf.constant(value))
        session.run(tf.global_variables_initializer())
        return tf.train.Saver().save(session, str(folder / "model.ckpt"))


def test_variables_start_from_a_checkpoint(tf, tmp_path):
    saved(tf, tmp_path, old=[1.0, 2.0])
    variable = tf.get_variable("new", [2])

    tf.contrib.framework.init_from_checkpoint(
        checkpoint_dir=str(tmp_path), assignment_map={"old": "new"}
    )

    assert run(tf, variable).tolist() == [1, 2]
    assert tf.contrib.framework.load_checkpoint(str(tmp_path)).has_tensor("old")


def test_a_partitioned_variable_gets_its_parts(tf, tmp_path):
    path = saved(tf, tmp_path, w=[[1.0], [2.0], [3.0], [4.0]])
    with tf.variable_scope("", partitioner=tf.fixed_size_partitioner(2)):
        parts = list(tf.get_variable("w", [4, 1]))

    assign, feed = tf.contrib.framework.assign_from_checkpoint(path, parts)

    with tf.Session() as session:
        session.run(assign, feed)
        assert [session.run(part).ravel().tolist() for part in parts] == [[1, 2], [3, 4]]


def test_unsaved_variable_is_reported_or_skipped(tf, tmp_path):
    path = saved(tf, tmp_path, w=[1.0])
    other, wrong = tf.get_variable("other", [1]), tf.get_variable("w", [2])
    assign_from_checkpoint = tf.contrib.framework.assign_from_checkpoint

    with pytest.raises(ValueError, match=r"Checkpoint is missing variable \[other\]"):
        assign_from_checkpoint(path, [other])
    assert assign_from_checkpoint(path, [other], ignore_missing_vars=True)[1] == {}
    with pytest.raises(ValueError, match="Total size of new array must be unchanged for w"):
        assign_from_checkpoint(path, [wrong])


def test_variables_are_found_by_scope_and_name(tf):
    framework = tf.contrib.framework
    with tf.variable_scope("a"):
        first = framework.model_variable("weights", [1], regularizer=tf.nn.l2_loss)
        second = framework.variable("biases", [1], trainable=False)

    assert framework.get_variables("a") == [first, second]
    assert framework.get_variables_by_suffix("biases") == [second]
    assert framework.get_variables_by_name("weights") == [first]
    assert framework.get_unique_variable("a/biases") is second
    assert framework.get_trainable_variables() == [first]
    assert framework.filter_variables([first, second], exclude_patterns=["bias"]) == [first]
    assert framework.get_variable_full_name(first) == "a/weights"


def test_shape_is_checked_when_it_is_known(tf):
    with_shape = tf.contrib.framework.with_shape
    known, later = tf.zeros([2, 3]), tf.placeholder(tf.float32)

    assert with_shape([2, 3], known) is known
    with pytest.raises(ValueError, match=r"Invalid shape for tensor .*, expected \[2 4\]"):
        with_shape([2, 4], known)
    checked = with_shape([2, 3], later)
    assert checked.shape.as_list() == [2, 3]
    assert run(tf, checked, {later: np.ones([2, 3])}).sum() == 6
    with pytest.raises(tf.errors.InvalidArgumentError, match="Wrong shape"):
        run(tf, checked, {later: np.ones([2, 4])})
    assert with_shape(tf.TensorShape([None, 3]), known) is known
    assert with_shape(tf.TensorShape([None, 3]), later).shape.as_list() == [None, 3]
    same = tf.contrib.framework.with_same_shape(known, later)
    assert run(tf, same, {later: np.ones([2, 3])}).shape == (2, 3)


def test_small_checks_and_sums(tf):
    framework = tf.contrib.framework

    assert run(tf, framework.reduce_sum_n([tf.constant([1, 2]), tf.constant([[3]])])) == 6
    wide, flat = framework.remove_squeezable_dimensions(tf.zeros([2, 1]), tf.zeros([2]))
    assert (wide.shape.as_list(), flat.shape.as_list()) == ([2], [2])
    assert framework.assert_scalar_int(tf.constant(3)).shape.as_list() == []
    with pytest.raises(ValueError, match="Expected integer type"):
        framework.assert_scalar_int(tf.constant(3.0))
    assert run(tf, framework.sort([3, 1, 2], direction="DESCENDING")).tolist() == [3, 2, 1]
    assert framework.is_tensor(tf.constant(1))
    assert framework.nest.flatten([1, [2]]) == [1, 2]


def test_a_python_function_takes_names_and_gives_structures(tf):
    def both(x, more):
        return {"sum": x + more, "product": x * more}

    found = tf.contrib.framework.py_func(
        both,
        args=[tf.constant(3)],
        kwargs={"more": tf.constant(4)},
        output_types={"sum": tf.int32, "product": tf.int32},
        output_shapes={"sum": [], "product": []},
    )

    assert run(tf, found) == {"sum": 7, "product": 12}
    assert found["sum"].shape.as_list() == []


def test_a_variable_is_filled_with_zeros_once(tf):
    variable = tf.get_variable("v", [2])
    zero = tf.contrib.framework.zero_initializer(variable)

    with tf.Session() as session:
        assert session.run(zero).tolist() == [0, 0]
        with pytest.raises(tf.errors.InvalidArgumentError, match="already initialized"):
            session.run(zero)


def test_a_part_of_a_graph_becomes_one_operation(tf):
    holder = tf.placeholder(tf.float32, name="in")
    inside = tf.identity(tf.square(tf.negative(holder), name="sq"), name="end")
    tf.identity(inside, name="after")
    graph = tf.get_default_graph()

    fused = tf.contrib.framework.fuse_op(
        graph.as_graph_def(), ["in"], ["end"], [tf.float32.as_datatype_enum], False, "one", "Mine"
    )

    assert [(node.name, node.op, list(node.input)) for node in fused.node] == [
        ("in", "Placeholder", []),
        ("one", "Mine", ["in"]),
        ("end", "Identity", ["one"]),
        ("after", "Identity", ["end"]),
    ]
    assert tf.contrib.framework.get_placeholders(graph) == [holder]


def test_a_matrix_is_read_under_another_vocabulary(tf, tmp_path):
    path = saved(tf, tmp_path, bias=[[1.0], [2.0]])
    (tmp_path / "old").write_text("a\nb\n")
    (tmp_path / "new").write_text("b\nc\n")
    start = tf.contrib.framework.load_linear_multiclass_bias_initializer(
        path, "bias", 2, str(tmp_path / "old"), str(tmp_path / "new")
    )

    assert run(tf, tf.get_variable("b", [2, 1], initializer=start)).tolist() == [[2], [0]]
