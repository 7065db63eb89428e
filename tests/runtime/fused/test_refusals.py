"""What cannot be fused, each kind with its sentence."""

import re

import pytest


def _weight(tf, resource=True):
    return tf.get_variable("weight", [2], use_resource=resource)


def _trained(tf, value, resource=True):
    loss = tf.reduce_sum(_weight(tf, resource) * value)
    return tf.train.GradientDescentOptimizer(0.1).minimize(loss), [loss]


def _reference(tf):
    return _trained(tf, 1.0, resource=False)


def _python(tf):
    return _trained(tf, _called(tf))


def _called(tf):
    value = tf.py_func(lambda: 1.0, [], tf.float64)
    value.set_shape([])
    return tf.to_float(value)


def _python_in_a_branch(tf):
    tf.enable_control_flow_v2()
    try:
        value = tf.cond(_weight(tf)[0] > 0, lambda: _called(tf), lambda: tf.constant(0.0))
    finally:
        tf.disable_control_flow_v2()
    with tf.variable_scope("", reuse=True):
        return _trained(tf, value)


def _placeholder(tf):
    return _trained(tf, tf.placeholder(tf.float32, [2], name="images"))


def _queue(tf):
    queue = tf.FIFOQueue(10, tf.float32, [[2]])
    return _trained(tf, queue.dequeue())


def _table(tf):
    table = tf.lookup.experimental.DenseHashTable(tf.int64, tf.float32, -1.0, -1, -2)
    with tf.control_dependencies([table.insert(tf.constant(3, tf.int64), 1.0)]):
        return _trained(tf, table.lookup(tf.constant(3, tf.int64)))


def _staging(tf):
    from tensorflow.python.ops.data_flow_ops import StagingArea

    area = StagingArea([tf.float32], [[2]])
    with tf.control_dependencies([area.put([tf.ones([2])])]):
        return _trained(tf, area.get())


def _two_processes(tf):
    with tf.device("/job:ps/task:0"):
        weight = _weight(tf)
    with tf.device("/job:worker/task:1"):
        loss = tf.reduce_sum(weight * 2.0)
        return tf.train.GradientDescentOptimizer(0.1).minimize(loss), [loss]


def _inside_a_loop(tf):
    inner = []

    def body(i):
        inner.append(i * 2)
        return i + 1

    tf.while_loop(lambda i: i < 3, body, [tf.constant(0)])
    op, _ = _trained(tf, 1.0)
    return op, inner


def _no_operation(tf):
    return [], []


def _no_tensor(tf):
    op, _ = _trained(tf, 1.0)
    return op, ["loss"]


def _other_graph(tf):
    with tf.Graph().as_default():
        value = tf.constant(1.0)
    op, _ = _trained(tf, 1.0)
    return op, [value]


SENTENCES = {
    _reference: r"'weight' is a reference variable; only resource variables",
    _python: r"'PyFunc\w*' calls Python \(PyFunc\) once in every step",
    _python_in_a_branch: r"'cond_\w+/PyFunc\w*' calls Python \(PyFunc\)",
    _placeholder: r"The placeholder 'images' is fed anew in every step",
    _queue: r"'fifo_queue\w*' works on a queue \(\w+\), which other threads fill",
    _table: r"'\w+/\w+' changes a lookup table \(LookupTableInsertV2\) in the step itself",
    _staging: r"'StagingArea_put' keeps values from step to step by itself \(Stage\)",
    _two_processes: r"two processes: '.*' in /job:ps/task:0 and '.*' in /job:worker/task:1",
    _inside_a_loop: r"'while/mul' is a part of a loop or of a branch, not of every step",
    _no_operation: r"The training step must be an operation to be fused, got list",
    _no_tensor: r"The values of a fused step must be tensors, got str",
    _other_graph: r"The value 'Const:0' belongs to another graph than the step",
}


@pytest.mark.parametrize("kind", SENTENCES, ids=lambda kind: kind.__name__.strip("_"))
def test_what_cannot_be_fused_is_reported_briefly(tf, kind):
    from danlu.errors import Unsupported
    from danlu_runtime.fused import Fused, why_not

    with tf.Graph().as_default() as graph:
        op, values = kind(tf)
        before = len(graph.get_operations())

        sentence = why_not(op, values)
        assert sentence is not None
        assert re.search(SENTENCES[kind], sentence), sentence
        assert sentence.endswith(".")
        with pytest.raises(Unsupported):
            Fused(op, values)
        assert len(graph.get_operations()) == before


def test_fed_default_is_fed_to_all_steps(tf):
    from danlu_runtime.fused import Fused

    rate = tf.placeholder_with_default(1.0, [], "rate")
    weight = tf.get_variable("weight", initializer=0.0, use_resource=True)
    fused = Fused(weight.assign_add(rate).op, [rate])

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(fused.values, fused.feed(3)) == [1.0]
        assert session.run(fused.values, {rate: 10.0, **fused.feed(2)}) == [10.0]
        assert session.run(weight) == 23.0


def test_one_process_with_a_name_is_no_hindrance(tf):
    from danlu_runtime.fused import why_not

    with tf.device("/job:worker/task:0"):
        assert why_not(*_trained(tf, 2.0)) is None


def test_what_trains_may_be_a_tensor(tf):
    from danlu_runtime.fused import Fused

    weight = tf.get_variable("weight", initializer=0.0, use_resource=True)
    fused = Fused(weight.assign_add(1.0, read_value=True) + 0.0, [])

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(fused.op, fused.feed(4))
        assert session.run(weight) == 4.0
