"""The small modules of tf.contrib: one value each, and refusals for those that are gone."""

import pytest


def evaluate(tf, *fetches):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(list(fetches))


def test_the_projector_is_told_which_variables_to_show(tf, tmp_path):
    from tensorflow.contrib.tensorboard.plugins import projector

    config = projector.ProjectorConfig()
    embedding = config.embeddings.add()
    embedding.tensor_name = "words"
    embedding.metadata_path = "metadata.tsv"
    writer = tf.summary.FileWriter(str(tmp_path))
    projector.visualize_embeddings(writer, config)
    writer.close()

    written = (tmp_path / "projector_config.pbtxt").read_text()
    assert 'tensor_name: "words"' in written
    assert tf.contrib.tensorboard.plugins.projector.ProjectorConfig is projector.ProjectorConfig


def test_frames_of_a_signal_overlap(tf):
    frames = tf.contrib.signal.frame(tf.range(5), frame_length=3, frame_step=2)

    assert evaluate(tf, frames)[0].tolist() == [[0, 1, 2], [2, 3, 4]]


def test_linear_operators_multiply(tf):
    product = tf.contrib.linalg.LinearOperatorDiag([1.0, 2.0]).matvec([3.0, 4.0])

    assert evaluate(tf, product)[0].tolist() == [3.0, 8.0]


def test_stateless_numbers_depend_on_their_seed_alone(tf):
    draw = tf.contrib.stateless.stateless_random_normal

    one, same, other = evaluate(tf, draw([2], [1, 2]), draw([2], [1, 2]), draw([2], [3, 4]))

    assert (one == same).all()
    assert not (one == other).all()


def test_constants_go_in_and_out_of_protocol_buffers(tf):
    util = tf.contrib.util

    assert util.make_ndarray(util.make_tensor_proto([1, 2])).tolist() == [1, 2]
    assert util.constant_value(tf.constant(3)) == 3
    assert util.ops_used_by_graph_def(tf.get_default_graph().as_graph_def()) == ["Const"]


def test_a_staging_area_gives_back_what_was_put(tf):
    area = tf.contrib.staging.StagingArea([tf.float32])
    put = area.put([tf.constant(3.0)])

    with tf.Session() as session:
        session.run(put)
        assert session.run(area.get()) == [3.0]


def test_alpha_dropout_keeps_mean_and_variance(tf):
    x = tf.random_normal([20000], seed=1)
    dropped = tf.contrib.nn.alpha_dropout(x, 0.8, seed=2)

    values, same = evaluate(tf, dropped, tf.contrib.nn.alpha_dropout(tf.ones([2]), 1.0))

    assert (values.mean(), values.std()) == pytest.approx((0.0, 1.0), abs=0.03)
    assert same.tolist() == [1, 1]
    with pytest.raises(ValueError, match="range"):
        tf.contrib.nn.alpha_dropout(x, 0.0)


def test_elements_by_rank_and_flipped_losses(tf):
    nn = tf.contrib.nn
    logits, labels = tf.constant([[1.0, 2.0]]), tf.constant([1])

    second, flipped, plain = evaluate(
        tf,
        nn.nth_element([[3.0, 1.0, 2.0]], 1),
        nn.deprecated_flipped_sparse_softmax_cross_entropy_with_logits(logits, labels),
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits),
    )

    assert second.tolist() == [2.0]
    assert flipped == plain


def test_sparsemax_is_the_nearest_point_on_the_simplex(tf):
    logits = tf.constant([[0.5, 0.4, -3.0], [5.0, 1.0, 0.0]])
    points = tf.contrib.sparsemax.sparsemax(logits)
    labels = tf.constant([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    loss = tf.contrib.sparsemax.sparsemax_loss(logits, points, labels)

    values, losses, slope = evaluate(tf, points, loss, tf.gradients(loss, logits)[0])

    assert values.ravel() == pytest.approx([0.55, 0.45, 0, 1, 0, 0], abs=1e-5)
    assert slope.ravel() == pytest.approx([-0.45, 0.45, 0, 1, -1, 0], abs=1e-5)
    assert losses[0] > 0


def test_the_resampler_reads_between_pixels_and_zero_outside(tf):
    data = tf.reshape(tf.range(6, dtype=tf.float32), [1, 2, 3, 1])
    warp = tf.constant([[[0.5, 0.5], [2.0, 1.0], [-0.5, 0.0], [9.0, 9.0]]])
    samples = tf.contrib.resampler.resampler(data, warp)

    values, slope = evaluate(tf, samples, tf.gradients(samples[0, 0, 0], warp)[0])

    assert values.ravel().tolist() == [2.0, 5.0, 0.0, 0.0]
    assert slope[0, 0].tolist() == [1.0, 3.0]  # a step to the right, a row down


def test_columns_of_sequences_become_one_input(tf):
    columns = tf.contrib.feature_column
    words = columns.sequence_categorical_column_with_identity("words", 5)
    sparse = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [1, 2, 3], [2, 2])
    numbers = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [0.1, 0.2, 0.3], [2, 2])
    layer, lengths = columns.sequence_input_layer(
        {"words": sparse, "numbers": numbers},
        [
            tf.feature_column.embedding_column(words, 3),
            columns.sequence_numeric_column("numbers"),
        ],
    )

    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        values, sizes = session.run([layer, lengths])

    assert values.shape == (2, 2, 4)
    assert values[:, :, 0].ravel() == pytest.approx([0.1, 0.2, 0.3, 0.0])
    assert sizes.tolist() == [2, 1]
    names = [v.op.name for v in tf.global_variables()]
    assert names == ["sequence_input_layer/words_embedding/embedding_weights"]


def test_cells_of_cudnn_models_have_their_names_and_formula(tf):
    import numpy as np

    with tf.variable_scope("m", initializer=tf.constant_initializer(0.5)):
        output, _ = tf.contrib.cudnn_rnn.CudnnCompatibleGRUCell(1)(tf.ones([1, 1]), tf.ones([1, 1]))
        tf.contrib.cudnn_rnn.CudnnCompatibleLSTMCell(1)(
            tf.ones([1, 1]), (tf.ones([1, 1]), tf.ones([1, 1]))
        )

    (value,) = evaluate(tf, output)

    gate = 1 / (1 + np.exp(-2.0))
    expected = (1 - gate) * np.tanh(0.5 + gate * 0.5) + gate
    assert value.ravel() == pytest.approx([expected], abs=1e-5)
    cell = "m/cudnn_compatible_gru_cell"
    assert [v.op.name for v in tf.global_variables()] == [
        f"{cell}/gates/kernel",
        f"{cell}/gates/bias",
        f"{cell}/candidate/input_projection/kernel",
        f"{cell}/candidate/input_projection/bias",
        f"{cell}/candidate/hidden_projection/kernel",
        f"{cell}/candidate/hidden_projection/bias",
        "m/cudnn_compatible_lstm_cell/kernel",
        "m/cudnn_compatible_lstm_cell/bias",
    ]
    with pytest.raises(AttributeError, match="LSTMBlockFusedCell"):
        _ = tf.contrib.cudnn_rnn.CudnnLSTM


def test_parameters_are_counted_by_the_old_analyzer(tf, capfd):
    tf.get_variable("w", [3, 4])
    analyzer = tf.contrib.tfprof.model_analyzer

    found = analyzer.print_model_analysis(
        tf.get_default_graph(), tfprof_options=analyzer.TRAINABLE_VARS_PARAMS_STAT_OPTIONS
    )

    assert found.total_parameters == 12


def test_a_graph_is_converted_for_phones(tf):
    x = tf.placeholder(tf.float32, [1, 2], name="x")
    y = tf.identity(x * 2.0, name="y")

    with tf.Session() as session:
        converter = tf.contrib.lite.TFLiteConverter.from_session(session, [x], [y])
        flat = converter.convert()

    assert flat[4:8] == b"TFL3"


def test_the_scope_of_the_compiler_marks_operations(tf):
    with tf.contrib.compiler.jit.experimental_jit_scope():
        total = tf.constant(1.0) + 2.0

    assert total.op.get_attr("_XlaCompile") is True


def test_autograph_turns_a_function_into_a_graph(tf):
    def largest(x):
        if x > 3:
            x = x * 10
        return x

    graph = tf.contrib.autograph.to_graph(largest)

    assert evaluate(tf, graph(tf.constant(2)), graph(tf.constant(5))) == [2, 50]


def test_timelines_are_written_by_the_old_hook(tf, tmp_path):
    step = tf.train.get_or_create_global_step()
    more = tf.assign_add(step, 1)
    hook = tf.contrib.hooks.ProfilerHook(save_steps=1, output_dir=str(tmp_path))

    with tf.train.SingularMonitoredSession([hook]) as session:
        for _ in range(3):
            session.run(more)

    assert list(tmp_path.glob("timeline-*.json"))


@pytest.mark.parametrize(
    ("name", "hint"),
    [("gan", "TensorFlow GAN"), ("timeseries", "dynamic_rnn"), ("nccl", "MirroredStrategy")],
)
def test_a_module_that_is_gone_says_what_to_use(tf, name, hint):
    with pytest.raises((AttributeError, ImportError), match=hint):
        getattr(tf.contrib, name)
