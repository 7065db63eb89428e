"""Keras together with sessions, graphs and estimators of TensorFlow 1."""

import pytest


def small(keras, optimizer="adam"):
    model = keras.models.Sequential()
    model.add(keras.layers.Dense(8, activation="relu", input_shape=(4,)))
    model.add(keras.layers.Dense(1, activation="sigmoid"))
    model.compile(optimizer, "binary_crossentropy", metrics=["accuracy"])
    return model


def test_the_session_of_keras_has_its_variables_initialized(tf, points):
    import keras
    import numpy as np
    from keras import backend as K

    x, _ = points
    model = small(keras)

    outputs = K.get_session().run(model.output, {model.input: x})

    assert np.allclose(outputs, model.predict(x))


def test_keras_uses_the_session_it_is_given(tf, points):
    import keras
    from keras.backend.tensorflow_backend import get_session, set_session

    x, y = points
    session = tf.Session(config=tf.ConfigProto(allow_soft_placement=True))
    set_session(session)

    small(keras).fit(x, y, verbose=0)

    assert get_session() is session


def test_layers_train_in_graph_of_scripts_own(tf, points):
    import keras
    from keras import backend as K

    x, y = points
    inputs = tf.placeholder(tf.float32, (None, 4))
    labels = tf.placeholder(tf.float32, (None, 1))
    hidden = keras.layers.Dropout(0.5)(keras.layers.Dense(8, activation="relu")(inputs))
    outputs = keras.layers.Dense(1)(hidden)
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=outputs))
    step = tf.train.AdamOptimizer(0.05).minimize(loss)
    feed = {inputs: x, labels: y.reshape(-1, 1)}

    with tf.Session() as session:
        K.set_session(session)
        session.run(tf.global_variables_initializer())
        before = session.run(loss, {**feed, K.learning_phase(): 0})
        for _ in range(30):
            session.run(step, {**feed, K.learning_phase(): 1})
        after = session.run(loss, {**feed, K.learning_phase(): 0})

    assert after < before


def test_functions_and_gradients_of_the_backend(tf, points):
    import keras
    from keras import backend as K

    x, _ = points
    model = small(keras)
    hidden = K.function([model.layers[0].input, K.learning_phase()], [model.layers[0].output])
    slope = K.function([model.input], K.gradients(model.output, model.input))

    assert hidden([x, 0])[0].shape == (64, 8)
    assert slope([x])[0].shape == (64, 4)


def test_a_session_is_cleared(tf, points):
    import keras
    from keras import backend as K

    x, y = points
    small(keras).fit(x, y, verbose=0)

    K.clear_session()

    assert small(keras).layers[0].name == "dense_1"


@pytest.mark.parametrize("optimizer", ["keras", "tensorflow", "name"])
def test_estimator_is_made_of_model_and_trains(tf, points, tmp_path, optimizer):
    x, y = points
    optimizers = {
        "keras": tf.keras.optimizers.SGD(lr=0.5),
        "tensorflow": tf.train.GradientDescentOptimizer(0.5),
        "name": "sgd",
    }
    model = small(tf.keras, optimizers[optimizer])
    estimator = tf.keras.estimator.model_to_estimator(model, model_dir=str(tmp_path))

    def data():
        parts = ({model.input_names[0]: x}, y.reshape(-1, 1))
        return tf.data.Dataset.from_tensor_slices(parts).batch(16)

    estimator.train(lambda: data().repeat(), steps=1)
    before = estimator.evaluate(data)
    estimator.train(lambda: data().repeat(), steps=200)
    result = estimator.evaluate(data)

    assert result["global_step"] == 201
    assert result["loss"] < before["loss"]


def test_estimator_of_model_trains_under_strategy(tf, points, tmp_path):
    x, y = points
    strategy = tf.distribute.MirroredStrategy(["/cpu:0"])
    model = small(tf.keras, tf.train.AdamOptimizer(0.05))
    estimator = tf.keras.estimator.model_to_estimator(
        model,
        model_dir=str(tmp_path),
        config=tf.estimator.RunConfig(train_distribute=strategy),
    )

    def data():
        parts = ({model.input_names[0]: x}, y.reshape(-1, 1))
        return tf.data.Dataset.from_tensor_slices(parts).repeat().batch(16)

    estimator.train(data, steps=5)

    assert estimator.get_variable_value("global_step") == 5
