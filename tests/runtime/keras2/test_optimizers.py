"""Optimizers with the arguments and defaults of the version a script asked for."""

import pytest


def model_with(keras, optimizer):
    model = keras.models.Sequential([keras.layers.Dense(1, input_dim=4)])
    model.compile(optimizer, "mse")
    return model


@pytest.mark.parametrize(
    ("name", "rate"), [("Adadelta", 1.0), ("Adagrad", 0.01), ("Adamax", 0.002), ("Nadam", 0.002)]
)
def test_the_standalone_library_has_its_own_first_rates(tf, name, rate):
    import keras

    made = getattr(keras.optimizers, name)()
    by_name = model_with(keras, name.lower()).optimizer

    assert keras.backend.get_value(made.lr) == pytest.approx(rate)
    assert keras.backend.get_value(by_name.lr) == pytest.approx(rate)
    assert type(made).__name__ == name


def test_the_library_inside_tensorflow_1_15_has_others(tf):
    rate = tf.keras.optimizers.Adadelta().lr

    assert tf.keras.backend.get_value(rate) == pytest.approx(0.001)


def test_a_rate_that_is_given_is_taken(tf):
    from keras import backend as K
    from keras.optimizers import Adadelta, Adam

    assert K.get_value(Adadelta(lr=0.5, rho=0.95, epsilon=None, decay=0.0).lr) == 0.5
    assert K.get_value(Adadelta(0.25).lr) == 0.25
    adam = Adam(lr=0.5, beta_1=0.9, beta_2=0.999, epsilon=None, decay=0.25, clipnorm=1.0)
    assert (K.get_value(adam.lr), K.get_value(adam.decay), adam.clipnorm) == (0.5, 0.25, 1.0)


def test_the_rate_is_set_while_training(tf, points):
    import keras
    from keras import backend as K

    x, y = points
    model = model_with(keras, keras.optimizers.SGD(lr=0.1, momentum=0.9, nesterov=True))

    model.fit(x, y, verbose=0, callbacks=[keras.callbacks.LearningRateScheduler(lambda _: 0.25)])

    assert K.get_value(model.optimizer.lr) == 0.25
    assert K.eval(model.optimizer.iterations) == 2


def test_optimizers_of_tensorflow_train_keras_models(tf, points):
    x, y = points
    model = model_with(tf.keras, tf.train.GradientDescentOptimizer(0.05))

    losses = model.fit(x, y, epochs=3, verbose=0).history["loss"]

    assert losses[-1] < losses[0]


@pytest.mark.parametrize("name", ["Adam", "SGD", "RMSprop", "Adagrad"])
def test_the_second_generation_takes_lr_and_decay(tf2, points, name):
    x, y = points
    optimizers, K = tf2.keras.optimizers, tf2.keras.backend
    plain = getattr(optimizers, name)(lr=0.25)
    slower = getattr(optimizers, name)(lr=0.25, decay=0.5)
    model = model_with(tf2.keras, slower)

    model.fit(x, y, verbose=0, callbacks=[tf2.keras.callbacks.ReduceLROnPlateau("loss")])

    assert float(K.get_value(plain.lr)) == 0.25
    assert isinstance(plain, optimizers.Optimizer)
    assert float(K.get_value(slower.decay)) == 0.5
    assert type(slower) is getattr(optimizers.legacy, name)


def test_own_optimizer_class_works_in_second_generation(tf2):
    class Mine(tf2.keras.optimizers.Adam):
        pass

    assert float(Mine(lr=0.5).learning_rate) == 0.5
