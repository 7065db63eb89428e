"""``DANLU_MAX_STEPS`` in TensorFlow 2: Keras' own loops, and those a script writes itself."""

import numpy as np
import pytest

from danlu.taskdir.exchange_dir import ExchangeDir
from danlu_runtime import steps


@pytest.fixture
def limited(tf2, monkeypatch, capfd):
    """TensorFlow 2 as in a job that ends after three steps."""
    monkeypatch.setenv("DANLU_MAX_STEPS", "3")
    steps.install_second()
    return tf2


def made():
    """Return a model whose weight is minus the number of its steps.

    Keras 2: a process that has taken it cannot take Keras 3, which whole programs test.
    """
    import tf_keras as keras

    layer = keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros")
    model = keras.Sequential([keras.Input((1,)), layer])
    model.compile(keras.optimizers.SGD(1.0), lambda _, y: y)
    return model


def weight(model):
    return float(np.squeeze(model.get_weights()[0]))


ONES = np.ones((64, 1), "float32")


def test_fit_ends_after_the_last_batch_and_validates(limited):
    model = made()

    history = model.fit(ONES, ONES, batch_size=8, epochs=9, validation_data=(ONES, ONES), verbose=0)

    assert weight(model) == -3.0
    assert len(history.history["loss"]) == len(history.history["val_loss"]) == 1
    assert model.predict(ONES[:1], verbose=0) == -3.0


def test_model_that_is_fitted_again_keeps_its_history(limited):
    model = made()

    for _ in range(50):
        history = model.fit(ONES, ONES, batch_size=32, verbose=0)
        assert history.history["loss"]

    assert weight(model) == -3.0


def test_another_model_trains_one_batch_past_the_limit(limited):
    first = made()
    second = made()

    first.fit(ONES, ONES, batch_size=8, verbose=0)
    history = second.fit(ONES, ONES, batch_size=8, epochs=5, verbose=0)

    assert (weight(first), weight(second)) == (-3.0, -1.0)
    assert len(history.history["loss"]) == 1


def test_generator_is_not_read_further_than_needed(limited):
    model = made()
    asked = []

    def batches():
        while True:
            asked.append(1)
            yield ONES[:4], ONES[:4]

    model.fit(batches(), steps_per_epoch=1000, epochs=100, verbose=0)

    assert weight(model) == -3.0
    assert len(asked) < 100


def test_batches_that_a_script_trains_on_are_counted(limited):
    model = made()

    losses = [model.train_on_batch(ONES, ONES) for _ in range(100)]

    assert weight(model) == -3.0
    assert losses[-1] == losses[2]


def test_two_models_in_turn_make_rounds(limited):
    one = made()
    other = made()

    for _ in range(20):
        one.train_on_batch(ONES, ONES)
        other.train_on_batch(ONES, ONES)

    assert (weight(one), weight(other)) == (-3.0, -3.0)


def taped(tf, optimizer, variable):
    with tf.GradientTape() as tape:
        loss = variable * 1.0
    grads = tape.gradient(loss, [variable])
    optimizer.apply_gradients(zip(grads, [variable], strict=True))
    return loss


def optimizers(tf):
    import tf_keras

    return {
        "tf_keras": tf_keras.optimizers.SGD(1.0),
        "legacy": tf_keras.optimizers.legacy.SGD(1.0),
        "v1": tf.compat.v1.train.GradientDescentOptimizer(1.0),
    }


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", ["tf_keras", "legacy", "v1"])
def test_limited_data_set_loop_skips_remaining_steps(limited, name, compiled):
    tf = limited
    optimizer, variable = optimizers(tf)[name], tf.Variable(0.0)
    train = tf.function(taped) if compiled else taped
    data = tf.data.Dataset.range(1000)
    seen, epochs = [], 0

    for _ in range(5):
        batches = 0
        for _ in data:
            train(tf, optimizer, variable)
            batches += 1
        seen.append(batches)
        epochs += sum(1 for _ in tf.data.Dataset.range(7))  # an evaluation is not cut

    assert float(variable) == -3.0
    assert seen == [3, 1, 1, 1, 1]
    assert epochs == 35


def test_loop_without_data_set_gets_last_result(limited):
    tf = limited
    optimizer, variable = optimizers(tf)["tf_keras"], tf.Variable(0.0)
    train = tf.function(taped)

    losses = [float(train(tf, optimizer, variable)) for _ in range(100)]

    assert float(variable) == -3.0
    assert losses[-1] == losses[2] == -2.0


def test_script_that_requests_next_batch_always_gets_one(limited):
    tf = limited
    optimizer, variable = optimizers(tf)["tf_keras"], tf.Variable(0.0)
    batches = iter(tf.data.Dataset.range(1000))

    for _ in range(100):
        next(batches)
        taped(tf, optimizer, variable)

    assert float(variable) == -3.0


def test_function_that_trains_nothing_is_never_left_out(limited):
    tf = limited
    double = tf.function(lambda x: x * 2)
    optimizer, variable = optimizers(tf)["tf_keras"], tf.Variable(0.0)
    for _ in range(9):
        taped(tf, optimizer, variable)

    assert [int(double(tf.constant(x))) for x in range(9)] == [2 * x for x in range(9)]


def test_a_loop_inside_one_function_ends(limited):
    tf = limited
    optimizer, variable = optimizers(tf)["tf_keras"], tf.Variable(0.0)
    optimizer.build([variable])

    @tf.function
    def training():
        seen = 0
        for _ in tf.range(9):
            for _ in tf.data.Dataset.range(2):
                taped(tf, optimizer, variable)
            for _ in tf.data.Dataset.range(7):  # an evaluation is not cut
                seen += 1
        return seen

    assert [int(training()) for _ in range(5)] == [14] * 5
    assert float(variable) == -3.0


def test_function_that_was_traced_before_its_loop_counts(limited):
    tf = limited
    optimizer, variable = optimizers(tf)["v1"], tf.Variable(0.0)
    step = tf.function(lambda: taped(tf, optimizer, variable))
    step()

    @tf.function
    def epoch():
        loss = 0.0
        for _ in tf.data.Dataset.range(1000):
            loss = step()
        return loss

    assert [float(epoch()) for _ in range(5)] == [-2.0] * 5
    assert float(variable) == -3.0


def test_function_with_loop_can_still_be_exported(limited, tmp_path):
    tf = limited
    module = tf.Module()

    @tf.function(input_signature=[])
    def doubled():
        value = 1
        while value < 100:
            value *= 2
        return value

    module.doubled = doubled
    tf.saved_model.save(module, str(tmp_path))

    assert int(tf.saved_model.load(str(tmp_path)).doubled()) == 128


@pytest.mark.parametrize("form", ["eager", "function", "concrete function"])
def test_assignments_after_a_gradient_are_steps(limited, form):
    tf = limited
    weight, bias = tf.Variable(0.0), tf.Variable(0.0)
    batches = []

    def train():
        with tf.GradientTape() as tape:
            loss = weight + bias
        for variable, slope in zip(
            (weight, bias), tape.gradient(loss, [weight, bias]), strict=True
        ):
            variable.assign_sub(slope)

    run = train if form == "eager" else tf.function(train)
    run = run.get_concrete_function() if form == "concrete function" else run
    for _ in tf.data.Dataset.range(1000):
        run()
        batches.append(1)
    weight.assign(7.0)  # a restored value is no step

    assert (float(weight), float(bias), len(batches)) == (7.0, -3.0, 3)


def unlimited(box):
    reported = ExchangeDir(box).steps()
    return reported.unlimited if reported else None


@pytest.fixture
def box(tmp_path, monkeypatch):
    monkeypatch.setenv("DANLU_BOX", str(tmp_path))
    return tmp_path


def test_unlimited_graph_while_loop_is_reported(box, limited, capfd):
    tf = limited
    optimizer, variable = optimizers(tf)["v1"], tf.Variable(0.0)

    def body(number):
        taped(tf, optimizer, variable)
        return number + 1

    tf.function(lambda: tf.while_loop(lambda number: number < 10, body, [0]))()

    assert float(variable) == -10.0
    assert "=3 cannot end this training: its loop runs inside one tf.func" in capfd.readouterr().err
    assert unlimited(box) == "function"


def test_unlimited_tensor_loop_is_reported(box, limited, capfd):
    tf = limited
    weight = tf.constant(0.0)

    for _ in range(5):
        with tf.GradientTape() as tape:
            tape.watch(weight)
            loss = weight * 1.0
        weight = weight - tape.gradient(loss, weight)

    output = capfd.readouterr().err
    assert (
        output.count("cannot end this training: the script computes gradients, but it calls") == 1
    )
    assert unlimited(box) == "tensors"


def test_loop_that_does_not_end_ends_program(limited, monkeypatch):
    from danlu_runtime.steps import step_limit

    tf = limited
    monkeypatch.setattr(step_limit, "RUNS", 50)
    optimizer, variable = optimizers(tf)["tf_keras"], tf.Variable(0.0)

    def endless():
        while True:
            taped(tf, optimizer, variable)

    with pytest.raises(SystemExit) as ended:
        endless()

    assert ended.value.code == 0
    assert float(variable) == -3.0
