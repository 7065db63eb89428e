"""Scripts of 2016 call TensorFlow as it was before 1.0."""

import numpy as np
import pytest


def value(tf, tensor, feed=None):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(tensor, feed)


@pytest.mark.parametrize("place", ["tf.nn", "tensorflow.python.ops.rnn"])
def test_a_network_over_a_list_of_inputs(tf, place):
    from tensorflow.python.ops import rnn

    module = tf.nn if place == "tf.nn" else rnn
    cell = tf.nn.rnn_cell.BasicRNNCell(3)
    with tf.variable_scope("net", initializer=tf.ones_initializer()):
        outputs, state = module.rnn(cell, [tf.ones([2, 4])] * 2, dtype=tf.float32)
    assert len(outputs) == 2
    first, last, end = value(tf, [outputs[0], outputs[1], state])
    np.testing.assert_allclose(first, np.full([2, 3], np.tanh(4.0)), rtol=1e-6)
    np.testing.assert_allclose(last, end)


def test_a_network_in_both_directions(tf):
    from tensorflow.python.ops import rnn

    cells = tf.nn.rnn_cell.BasicRNNCell(3), tf.nn.rnn_cell.BasicRNNCell(2)
    outputs, _, _ = tf.nn.bidirectional_rnn(*cells, [tf.zeros([1, 4])] * 2, dtype=tf.float32)
    assert value(tf, outputs[0]).tolist() == [[0.0] * 5]
    with tf.variable_scope("private"):
        outputs, _, _ = rnn.bidirectional_rnn(*cells, [tf.zeros([1, 4])], dtype=tf.float32)
    assert outputs[0].shape.as_list() == [1, 5]


def test_a_network_that_keeps_its_state(tf):
    class Saver:
        saved = None

        def state(self, name):
            return tf.ones([1, 3])

        def save_state(self, name, state):
            self.saved = state
            return tf.identity(state)

    saver = Saver()
    cell = tf.nn.rnn_cell.BasicRNNCell(3)
    with tf.variable_scope("net", initializer=tf.ones_initializer()):
        outputs, _ = tf.nn.state_saving_rnn(cell, [tf.zeros([1, 2])], saver, "state")
    output, saved = value(tf, [outputs[0], saver.saved])
    np.testing.assert_allclose(output, [[np.tanh(3.0)] * 3], rtol=1e-6)
    np.testing.assert_allclose(saved, output)


def test_sequences_to_sequences_are_in_nn(tf):
    loss = tf.nn.seq2seq.sequence_loss([tf.zeros([1, 4])], [tf.constant([2])], [tf.ones([1])])
    np.testing.assert_allclose(value(tf, loss), np.log(4.0), rtol=1e-6)


def inputs_first(inputs, labels):
    return inputs[:, 0] - labels


def labels_first(labels, inputs):
    return inputs[:, 0] - labels


def by_name(labels, logits):
    return logits[:, 0] - labels


@pytest.mark.parametrize("own", [inputs_first, labels_first, by_name])
def test_own_loss_gets_arguments_in_its_order(tf, own):
    loss = tf.nn.seq2seq.sequence_loss(
        [tf.constant([[7.0]])], [tf.constant([2.0])], [tf.ones([1])], softmax_loss_function=own
    )
    assert value(tf, loss) == 5.0


def test_batches_of_matrices_and_signals(tf):
    two = tf.constant([[[2.0, 0.0], [1.0, 4.0]]])
    made = value(
        tf,
        {
            "inverse": tf.batch_matrix_inverse(two),
            "determinant": tf.batch_matrix_determinant(two),
            "diag": tf.batch_matrix_diag(tf.constant([[1.0, 2.0]])),
            "transpose": tf.batch_matrix_transpose(two),
            "fft": tf.batch_fft(tf.constant([[1.0, 1.0]], tf.complex64)),
        },
    )
    assert made["inverse"].tolist() == [[[0.5, 0.0], [-0.125, 0.25]]]
    assert made["determinant"].tolist() == [8.0]
    assert made["diag"].tolist() == [[[1.0, 0.0], [0.0, 2.0]]]
    assert made["transpose"].tolist() == [[[2.0, 1.0], [0.0, 4.0]]]
    assert made["fft"].tolist() == [[2 + 0j, 0j]]


def test_a_product_with_an_adjoint_matrix(tf):
    row, column = tf.constant([[[1j, 2]]]), tf.constant([[[1j], [2]]])
    assert value(tf, tf.batch_matmul(row, row, adj_y=True)).tolist() == [[[5]]]
    assert value(tf, tf.batch_matmul(column, column, adj_x=True)).tolist() == [[[5]]]
    assert value(tf, tf.batch_matmul(row, column)).tolist() == [[[3]]]


def test_summaries_by_their_tags(tf):
    with tf.name_scope("tower"):
        tf.scalar_summary(["loss (raw)", "rate"], [1.5, 0.25])
        tf.scalar_summary("one", tf.constant(3.0))
        tf.image_summary("digits", tf.zeros([4, 2, 2, 1]), max_images=2)
        tf.histogram_summary("weights", tf.constant([1.0, 2.0]))
    summary = tf.Summary.FromString(value(tf, tf.merge_all_summaries()))
    scalars = {v.tag: v.simple_value for v in summary.value if v.HasField("simple_value")}
    assert scalars == {"loss (raw)": 1.5, "rate": 0.25, "one": 3.0}
    assert [v.tag for v in summary.value if v.HasField("image")] == [
        "digits/image/0",
        "digits/image/1",
    ]
    assert [v.histo.sum for v in summary.value if v.tag == "weights"] == [3.0]


def test_dimensions_are_reversed_by_flags_or_by_number(tf):
    square = tf.constant([[1, 2], [3, 4]])
    assert value(tf, tf.reverse(square, [True, False])).tolist() == [[3, 4], [1, 2]]
    assert value(tf, tf.reverse(square, dims=[False, True])).tolist() == [[2, 1], [4, 3]]
    flags = tf.constant([True, True])
    assert value(tf, tf.reverse(square, flags)).tolist() == [[4, 3], [2, 1]]
    assert value(tf, tf.reverse(square, [1])).tolist() == [[2, 1], [4, 3]]
    assert value(tf, tf.reverse(square, axis=[tf.constant(0)])).tolist() == [[3, 4], [1, 2]]


def test_images_are_resized_to_height_and_width(tf):
    images = tf.ones([1, 2, 2, 3])
    method = tf.image.ResizeMethod.NEAREST_NEIGHBOR
    resize = tf.image.resize_images
    made = [
        resize(images, 4, 6),
        resize(images, 4, 6, method),
        resize(images, new_height=4, new_width=6),
        resize(images, tf.constant(4), tf.constant(6)),
        resize(images, [4, 6]),
        resize(images, (4, 6), method),
        resize(images, np.array([4, 6])),
    ]
    assert [one.shape for one in value(tf, made)] == [(1, 4, 6, 3)] * len(made)


@pytest.mark.parametrize("name", ["nce_loss", "sampled_softmax_loss"])
def test_inputs_of_sampled_loss_may_come_first(tf, name):
    loss = getattr(tf.nn, name)
    weights, biases = tf.constant([[1.0], [2.0], [3.0]]), tf.zeros([3])
    inputs, labels = tf.constant([[0.5]]), tf.constant([[2]], tf.int64)
    sampled = ([0], [[0.5]], [0.5])
    sampled = tuple(
        tf.constant(one, kind)
        for one, kind in zip(sampled, (tf.int64, tf.float32, tf.float32), strict=True)
    )
    old = loss(weights, biases, inputs, labels, 1, 3, sampled_values=sampled)
    new = loss(weights, biases, labels, inputs, 1, 3, sampled_values=sampled)
    first, second = value(tf, [old, new])
    assert first.tolist() == second.tolist()
    assert first[0] > 0


@pytest.mark.parametrize("form", ["named", "second"])
def test_a_writer_takes_the_definition_of_a_graph(tf, tmp_path, form):
    tf.constant(1.0, name="only")
    definition = tf.get_default_graph().as_graph_def()
    where = str(tmp_path)
    if form == "named":
        writer = tf.train.SummaryWriter(where, graph_def=definition)
    else:
        writer = tf.train.SummaryWriter(where, definition)
    writer.close()
    (path,) = tmp_path.iterdir()
    written = [event.graph_def for event in tf.train.summary_iterator(str(path))]
    graphs = [tf.GraphDef.FromString(one) for one in written if one]
    assert [node.name for node in graphs[0].node] == ["only"]
