"""Numbers of tf.keras as the real TensorFlow 1.15.5 computed them."""

import pytest

X = [[0.2, -0.4, 0.9], [0.7, 0.1, -0.3]]
Y = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
KERNEL = [[0.5, -0.2, 0.1], [0.3, 0.8, -0.6], [-0.4, 0.2, 0.7]]


def trained(tf, optimizer, loss, activation="softmax", epochs=2):
    layer = tf.keras.layers.Dense(3, activation=activation, use_bias=False, input_shape=(3,))
    model = tf.keras.Sequential([layer])
    model.set_weights([_array(KERNEL)])
    model.compile(optimizer, loss)
    history = model.fit(_array(X), _array(Y), epochs=epochs, verbose=2, shuffle=False)
    return history.history["loss"], model.get_weights()[0]


def _array(rows):
    import numpy as np

    return np.array(rows, "float32")


def test_binary_loss_of_softmax_takes_probabilities(tf):
    import numpy as np

    losses, _ = trained(tf, "sgd", "binary_crossentropy")

    scores = np.exp(_array(X) @ _array(KERNEL))
    found = scores / scores.sum(1, keepdims=True)
    wanted = -np.mean(_array(Y) * np.log(found) + (1 - _array(Y)) * np.log(1 - found))
    assert losses[0] == pytest.approx(wanted, rel=1e-5)


def test_adagrad_begins_at_zero(tf):
    import numpy as np

    _, kernel = trained(tf, tf.keras.optimizers.Adagrad(0.1), "mse", "linear", epochs=1)

    # The first step moves each weight by the whole rate, whatever its gradient.
    assert np.abs(kernel - _array(KERNEL)) == pytest.approx(np.full((3, 3), 0.1), rel=1e-3)
    given = tf.keras.optimizers.Adagrad(initial_accumulator_value=0.3)
    assert given.get_config()["initial_accumulator_value"] == pytest.approx(0.3)


def test_cosine_similarity_grows_with_likeness(tf):
    function = tf.keras.losses.cosine_similarity
    with tf.Session() as session:
        values = session.run(
            [
                function(tf.constant(X), tf.constant(X)),
                tf.keras.losses.get("cosine_proximity")(tf.constant(X), tf.constant(X)),
            ]
        )

    assert values[0] == pytest.approx([1.0, 1.0])
    assert values[1] == pytest.approx([1.0, 1.0])


def test_metric_at_threshold_takes_closest(tf):
    metric = tf.keras.metrics.SensitivityAtSpecificity(0.5)
    update = metric.update_state([0.0, 0.0, 1.0, 1.0, 1.0], [0.1, 0.6, 0.3, 0.7, 0.9])
    with tf.Session() as session:
        session.run([variable.initializer for variable in metric.variables])
        session.run(update)

        # Thresholds between 0.1 and 0.6 have a specificity of 0.5; the first of them is taken.
        assert session.run(metric.result()) == pytest.approx(1.0)


def test_images_turn_about_former_center(tf):
    import numpy as np
    from tensorflow.keras.preprocessing.image import ImageDataGenerator

    images = np.arange(16.0).reshape(1, 4, 4, 1)
    turned = ImageDataGenerator().apply_transform(images[0], {"theta": 180})

    # The centre was a pixel beyond the middle: row 3 becomes row 2, and column 3 column 2.
    assert turned[2:, 2:, 0] == pytest.approx(images[0, ::-1, ::-1, 0][:2, :2], abs=1e-3)


def test_updates_accept_their_inputs(tf):
    backend = tf.keras.backend

    class Counting(tf.keras.layers.Layer):
        def build(self, shape):
            self.count = self.add_weight("count", (), initializer="zeros", trainable=False)

        def call(self, x):
            self.add_update([backend.update_add(self.count, 1.0)], x)
            return x

    model = tf.keras.Sequential([Counting(input_shape=(3,)), tf.keras.layers.Dense(3)])
    model.compile("sgd", "mse")
    model.fit(_array(X), _array(Y), batch_size=1, verbose=0)

    assert model.get_weights()[0] == 2


def test_epoch_line_has_no_step_time(tf, capsys):
    trained(tf, "sgd", "mse")

    lines = [line for line in capsys.readouterr().out.splitlines() if "loss" in line]
    assert len(lines) == 2
    assert all("/step" not in line and not line.endswith("-") for line in lines)
