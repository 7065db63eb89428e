"""tf.contrib.cudnn_rnn: the layers, against the cells of the same arithmetic."""

import pytest

LAYERS, UNITS, SIZE = 2, 3, 4


def inputs(tf):
    import numpy as np

    return tf.constant(np.random.RandomState(2).uniform(-1, 1, (5, 2, SIZE)).astype("float32"))


def written(tf, folder, **options):
    """Write a checkpoint of a layer whose weights are all drawn; return its outputs."""
    layer = tf.contrib.cudnn_rnn.CudnnLSTM(
        LAYERS, UNITS, bias_initializer=tf.random_uniform_initializer(), seed=1, **options
    )
    outputs, states = layer(inputs(tf), training=False)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, str(folder / "model"))
        return session.run([outputs, *states])


@pytest.mark.parametrize("direction", ["unidirectional", "bidirectional"])
def test_checkpoint_of_layer_fits_compatible_cells(tf, tmp_path, direction):
    import numpy as np

    outputs, h, c = written(tf, tmp_path, direction=direction)
    tf.reset_default_graph()

    def cell():
        return tf.contrib.cudnn_rnn.CudnnCompatibleLSTMCell(UNITS)

    with tf.variable_scope("cudnn_lstm"):
        if direction == "unidirectional":
            cells = tf.nn.rnn_cell.MultiRNNCell([cell() for _ in range(LAYERS)])
            found, last = tf.nn.dynamic_rnn(cells, inputs(tf), dtype=tf.float32, time_major=True)
            states = last
        else:
            forward, backward = [[cell() for _ in range(LAYERS)] for _ in range(2)]
            found, first, second = tf.contrib.rnn.stack_bidirectional_dynamic_rnn(
                forward, backward, inputs(tf), dtype=tf.float32, time_major=True
            )
            states = [side for pair in zip(first, second, strict=True) for side in pair]
    with tf.Session() as session:
        tf.train.Saver().restore(session, str(tmp_path / "model"))
        wanted, ends = session.run([found, list(states)])

    assert np.allclose(outputs, wanted, atol=1e-6)
    assert np.allclose(h, [end.h for end in ends], atol=1e-6)
    assert np.allclose(c, [end.c for end in ends], atol=1e-6)


def test_checkpoint_of_cells_fits_gru_layer(tf, tmp_path):
    import numpy as np

    with tf.variable_scope("cudnn_gru"):
        cell = tf.contrib.cudnn_rnn.CudnnCompatibleGRUCell(UNITS)
        cells = tf.nn.rnn_cell.MultiRNNCell([cell])
        found, _ = tf.nn.dynamic_rnn(cells, inputs(tf), dtype=tf.float32, time_major=True)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, str(tmp_path / "model"))
        wanted = session.run(found)
    tf.reset_default_graph()

    outputs, (last,) = tf.contrib.cudnn_rnn.CudnnGRU(1, UNITS)(inputs(tf))
    with tf.Session() as session:
        tf.train.Saver().restore(session, str(tmp_path / "model"))
        made, end = session.run([outputs, last])

    assert np.allclose(made, wanted, atol=1e-6)
    assert np.allclose(end[0], wanted[-1], atol=1e-6)


@pytest.mark.parametrize("name", ["CudnnRNNTanh", "CudnnRNNRelu"])
def test_plain_layers_train(tf, name):
    layer = getattr(tf.contrib.cudnn_rnn, name)(1, UNITS, direction="bidirectional", dropout=0.5)
    outputs, _ = layer(tf.transpose(inputs(tf), [1, 0, 2]), time_major=False)
    loss = tf.reduce_mean(tf.square(outputs - 0.3))
    step = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        before = session.run(loss)
        for _ in range(10):
            session.run(step)

        assert session.run(loss) < before
    assert outputs.shape.as_list() == [2, 5, 2 * UNITS]
    assert len(layer.trainable_variables) == 4


def test_rows_end_at_their_lengths(tf):
    layer = tf.contrib.cudnn_rnn.CudnnLSTM(1, UNITS, direction="bidirectional")
    outputs, (h, _) = layer(inputs(tf), sequence_lengths=tf.constant([5, 2]))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        made, last = session.run([outputs, h])

    assert not made[2:, 1].any()
    assert last[0, 1] == pytest.approx(made[1, 1, :UNITS])
    assert last[1, 1] == pytest.approx(made[0, 1, UNITS:])


def test_layer_without_input_weights_is_refused(tf):
    from danlu.errors import Unsupported

    with pytest.raises(Unsupported) as refused:
        tf.contrib.cudnn_rnn.CudnnLSTM(1, SIZE, input_mode="skip_input")(inputs(tf))

    assert "linear_input" in refused.value.hint
