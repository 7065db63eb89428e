"""tf.contrib.graph_editor: walks, selections and replaced tensors."""

import pytest


@pytest.fixture
def chain():
    """Build ``d = (a + b) * c`` and return its parts; called inside the test's process."""

    def build(tf):
        a, b = tf.constant(2.0, name="a"), tf.constant(3.0, name="b")
        c = tf.get_variable("c", initializer=4.0)
        s = tf.add(a, b, name="s")
        return a, b, c, s, tf.multiply(s, c, name="d")

    return build


def names(ops):
    return sorted(op.name for op in ops)


def test_walks_go_along_the_edges(tf, chain):
    editor = tf.contrib.graph_editor
    a, _, _, s, d = chain(tf)

    assert names(editor.get_backward_walk_ops(s.op)) == ["a", "b", "s"]
    assert names(editor.get_backward_walk_ops(d.op, inclusive=False, stop_at_ts=[s])) == [
        "c",
        "c/read",
    ]
    assert names(editor.get_forward_walk_ops(a.op)) == ["a", "d", "s"]
    assert names(editor.get_forward_walk_ops(a.op, within_ops_fn=lambda op: op.name != "d")) == [
        "a",
        "s",
    ]
    assert names(editor.get_walks_intersection_ops(a.op, s.op)) == ["a", "s"]


def test_tensors_are_selected_by_name(tf, chain):
    editor = tf.contrib.graph_editor
    _, _, _, s, d = chain(tf)

    assert names(editor.select_ops("^[sd]$")) == ["d", "s"]
    assert [t.name for t in editor.filter_ts_from_regex([s.op, d.op], "^d$")] == ["d:0"]
    assert names(editor.get_consuming_ops(s)) == ["d"]
    assert editor.get_generating_ops([d]) == [d.op]


def test_replaced_tensor_changes_copy_and_not_original(tf, chain):
    _, _, c, s, d = chain(tf)
    other = tf.contrib.graph_editor.graph_replace(d, {s: tf.constant(10.0)})
    several = tf.contrib.graph_editor.graph_replace([d, s], {s: tf.constant(1.0)})

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run([d, other]) == [20.0, 40.0]
        assert session.run(several) == [4.0, 1.0]
        session.run(c.assign(5.0))
        assert session.run(other) == 50.0  # the variable is shared
    assert tf.gradients(other, c)[0] is not None


def test_independent_targets_are_refused(tf, chain):
    a, _, _, _, d = chain(tf)

    with pytest.raises(ValueError, match="not connected"):
        tf.contrib.graph_editor.graph_replace(a, {d: tf.constant(1.0)})


def test_views_of_graphs_are_gone(tf):
    with pytest.raises(AttributeError, match="graph_replace"):
        _ = tf.contrib.graph_editor.sgv
