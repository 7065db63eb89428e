"""tf.contrib.rnn: names of variables, and numbers against cells of tf.nn or plain numpy."""

import pytest

from sequences import evaluate, sequence, variable_names


# A state of 0.1, inputs of 1 and every weight 0.5: each value worked out from the formula of the
# cell's paper with two units.
@pytest.mark.parametrize(
    ("name", "options", "value"),
    [
        ("SRUCell", {}, 0.509682),
        ("UGRNNCell", {}, None),
        ("IndRNNCell", {}, None),
        ("IndyGRUCell", {}, None),
    ],
)
def test_a_cell_of_one_state_follows_its_formula(tf, name, options, value):
    import numpy as np

    def sigmoid(z):
        return 1 / (1 + np.exp(-z))

    with tf.variable_scope("root", initializer=tf.constant_initializer(0.5)):
        cell = getattr(tf.contrib.rnn, name)(2, **options)
        output, _ = cell(tf.ones([1, 2]), tf.fill([1, 2], 0.1))
    recurrent = [v for v in tf.global_variables() if v.op.name.endswith("kernel_u")]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run([v.assign(tf.fill(v.shape, 0.5)) for v in recurrent])
        got = session.run(output)

    gate = sigmoid(0.5 + 0.5 + 0.05 + 1.0)
    expected = {
        "SRUCell": value,
        # linear of [1, 1, .1, .1] with weights .5 is 1.1; the bias starts at zero
        "UGRNNCell": sigmoid(2.1) * 0.1 + (1 - sigmoid(2.1)) * np.tanh(1.1),
        "IndRNNCell": np.tanh(0.5 + 0.5 + 0.05),
        "IndyGRUCell": gate * 0.1 + (1 - gate) * np.tanh(1.0 + gate * 0.05),
    }[name]
    np.testing.assert_allclose(got, [[expected] * 2], atol=1e-5)


def test_a_normalised_cell_follows_its_formula(tf):
    import numpy as np

    cell = tf.contrib.rnn.LayerNormBasicLSTMCell(3)
    x, c, h = (sequence(tf, 2, 3, seed=seed) for seed in range(3))
    output, _ = cell(x, tf.nn.rnn_cell.LSTMStateTuple(c, h))
    kernel = tf.trainable_variables()[0]

    got, w, xs, cs, hs = evaluate(tf, output, kernel, x, c, h)

    def norm(a):
        return (a - a.mean(1, keepdims=True)) / np.sqrt(a.var(1, keepdims=True) + 1e-12)

    def sigmoid(z):
        return 1 / (1 + np.exp(-z))

    i, j, f, o = (norm(part) for part in np.split(np.concatenate([xs, hs], 1) @ w, 4, 1))
    new = norm(cs * sigmoid(f + 1) + sigmoid(i) * np.tanh(j))
    np.testing.assert_allclose(got, np.tanh(new) * sigmoid(o), atol=1e-4)
    scopes = ["input", "transform", "forget", "output", "state"]
    assert variable_names(tf) == ["layer_norm_basic_lstm_cell/kernel"] + [
        f"layer_norm_basic_lstm_cell/{scope}/{name}"
        for scope in scopes
        for name in ("gamma", "beta")
    ]


@pytest.mark.parametrize("groups", [1, 2])
def test_group_cell_of_one_group_is_lstm(tf, groups):
    import numpy as np

    x = sequence(tf, 2, 4)
    state = tf.nn.rnn_cell.LSTMStateTuple(sequence(tf, 2, 4, seed=1), sequence(tf, 2, 4, seed=2))
    cell = tf.contrib.rnn.GLSTMCell(4, number_of_groups=groups)
    output, _ = cell(x, state)
    basic = tf.nn.rnn_cell.BasicLSTMCell(4)
    expected, _ = basic(x, state)
    if groups == 1:
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(basic.trainable_variables[0].assign(tf.trainable_variables()[0]))
            np.testing.assert_allclose(*session.run([output, expected]), atol=1e-5)
    else:
        assert variable_names(tf)[:2] == ["glstm_cell/group0/kernel", "glstm_cell/group1/kernel"]
        assert tf.global_variables()[0].shape.as_list() == [4, 8]


def test_a_convolution_of_one_pixel_is_an_lstm(tf):
    import numpy as np

    x = sequence(tf, 3, 5)
    cell = tf.contrib.rnn.Conv2DLSTMCell(
        input_shape=[1, 1, 5], output_channels=4, kernel_shape=[1, 1]
    )
    output, _ = cell(tf.reshape(x, [3, 1, 1, 5]), cell.zero_state(3, tf.float32))
    basic = tf.nn.rnn_cell.BasicLSTMCell(4)
    expected, _ = basic(x, basic.zero_state(3, tf.float32))
    kernel = tf.global_variables()[0]

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(basic.trainable_variables[0].assign(kernel[0, 0]))
        got, wanted = session.run([output, expected])

    np.testing.assert_allclose(got[:, 0, 0], wanted, atol=1e-5)
    assert variable_names(tf)[:2] == ["conv_2d_lstm_cell/kernel", "conv_2d_lstm_cell/biases"]


WRAPPED = {
    "attention_cell_wrapper": lambda rnn: rnn.AttentionCellWrapper(rnn.GRUCell(4), 3),
    "input_projection_wrapper": lambda rnn: rnn.InputProjectionWrapper(rnn.GRUCell(4), 3),
    "output_projection_wrapper": lambda rnn: rnn.OutputProjectionWrapper(rnn.GRUCell(4), 3),
    "nas_cell": lambda rnn: rnn.NASCell(4, num_proj=3, use_biases=True),
    "intersection_rnn_cell": lambda rnn: rnn.IntersectionRNNCell(4, num_in_proj=4),
    "weight_norm_lstm_cell": lambda rnn: rnn.WeightNormLSTMCell(4, num_proj=3),
    "coupled_input_forget_gate_lstm_cell": lambda rnn: rnn.CoupledInputForgetGateLSTMCell(
        4, use_peepholes=True, num_proj=3
    ),
    "indy_lstm_cell": lambda rnn: rnn.IndyLSTMCell(4),
    "grid_lstm_cell": lambda rnn: rnn.GridLSTMCell(
        4, use_peepholes=True, feature_size=2, frequency_skip=2, num_frequency_blocks=[3]
    ),
}


@pytest.mark.parametrize("scope", WRAPPED)
def test_a_cell_learns_every_variable_of_its_scope(tf, scope):
    import numpy as np

    cell = WRAPPED[scope](tf.contrib.rnn)
    outputs, _ = tf.nn.dynamic_rnn(cell, sequence(tf, 2, 5, 6), dtype=tf.float32)
    gradients = tf.gradients(tf.reduce_sum(outputs**2), tf.trainable_variables())

    values, *changes = evaluate(tf, outputs, *gradients)

    assert values.shape[-1] == cell.output_size
    assert all(name.startswith(f"rnn/{scope}/") for name in variable_names(tf))
    assert all(np.isfinite(change).all() and change.any() for change in changes)


def test_a_phased_cell_takes_times_beside_features(tf):
    cell = tf.contrib.rnn.PhasedLSTMCell(4, ratio_on=1.0, leak=0.0)
    times = tf.zeros([2, 5, 1])
    outputs, _ = tf.nn.dynamic_rnn(cell, (times, sequence(tf, 2, 5, 6)), dtype=tf.float32)
    kernel, phase = tf.global_variables()[0], tf.global_variables()[-2]

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(phase.assign(tf.zeros([4])))
        closed = session.run(outputs)  # at the very start of the cycle nothing is let in

    assert not closed.any()
    assert (kernel.op.name, phase.op.name) == (
        "rnn/phased_lstm_cell/mask_gates/kernel",
        "rnn/phased_lstm_cell/phase",
    )


def test_an_embedding_wrapper_looks_its_inputs_up(tf):
    cell = tf.contrib.rnn.EmbeddingWrapper(tf.nn.rnn_cell.BasicRNNCell(2), 7, 3)
    output, _ = cell(tf.constant([[1], [1], [4]]), tf.zeros([3, 2]))

    (values,) = evaluate(tf, output)

    assert (values[0] == values[1]).all()
    assert variable_names(tf)[0] == "embedding_wrapper/embedding"


def test_highway_carries_its_input_when_gate_is_open(tf):
    import numpy as np

    cell = tf.contrib.rnn.HighwayWrapper(tf.nn.rnn_cell.BasicRNNCell(3), carry_bias_init=100.0)
    x = sequence(tf, 2, 3)
    output, _ = cell(x, tf.zeros([2, 3]))

    np.testing.assert_allclose(*evaluate(tf, output, x), atol=1e-5)


def test_stacked_directions_feed_each_other(tf):
    cells = [[tf.contrib.rnn.GRUCell(3), tf.contrib.rnn.GRUCell(4)] for _ in range(2)]
    outputs, forward, _ = tf.contrib.rnn.stack_bidirectional_dynamic_rnn(
        *cells, sequence(tf, 2, 5, 6), dtype=tf.float32, sequence_length=[5, 2]
    )

    values, state = evaluate(tf, outputs, forward[1])

    assert values.shape == (2, 5, 8)
    assert (values[1, 1, :4] == state[1]).all()
    prefix = "stack_bidirectional_rnn/cell_1/bidirectional_rnn/fw/gru_cell/gates/kernel"
    assert prefix in variable_names(tf)


def test_static_networks_are_those_of_tf_nn(tf):
    steps = tf.unstack(sequence(tf, 2, 5, 6), axis=1)
    outputs, state = tf.contrib.rnn.static_rnn(
        tf.contrib.rnn.BasicLSTMCell(4), steps, dtype=tf.float32
    )

    last, final = evaluate(tf, outputs[-1], state.h)

    assert (last == final).all()
    assert variable_names(tf) == ["rnn/basic_lstm_cell/kernel", "rnn/basic_lstm_cell/bias"]


def test_private_paths_lead_to_the_linear_map(tf):
    from tensorflow.contrib.rnn.python.ops import core_rnn_cell
    from tensorflow.contrib.rnn.python.ops.core_rnn_cell_impl import _linear
    from tensorflow.contrib.rnn.python.ops.rnn_cell import LayerNormBasicLSTMCell

    assert core_rnn_cell._linear(tf.ones([1, 2]), 3, True).shape.as_list() == [1, 3]
    with tf.variable_scope("other"):
        assert _linear(tf.ones([1, 2]), 3, False).shape.as_list() == [1, 3]
    assert LayerNormBasicLSTMCell is tf.contrib.rnn.LayerNormBasicLSTMCell


def test_cell_that_is_gone_reports_what_to_write(tf):
    with pytest.raises(AttributeError, match=r"NTMCell is not in .* subclass of tf.nn.rnn_cell"):
        _ = tf.contrib.rnn.NTMCell


@pytest.mark.parametrize(("stateful", "marked"), [(False, False), (True, True)])
def test_steps_of_compiled_cell_are_marked_for_xla(tf, stateful, marked):
    cell = tf.contrib.rnn.CompiledWrapper(tf.nn.rnn_cell.GRUCell(3), compile_stateful=stateful)

    output, _ = cell(tf.ones([1, 3]), tf.zeros([1, 3]))

    def is_marked(operation):
        return operation.node_def.attr["_XlaCompile"].b

    assert output.shape.as_list() == [1, 3]
    assert cell.output_size == 3
    made = tf.get_default_graph().get_operations()
    assert all(is_marked(op) for op in made if op.type == "MatMul")
    (variable, *_) = [op for op in made if op.type in ("VariableV2", "VarHandleOp")]
    assert is_marked(variable) is marked
