"""Training as models of Keras 1.0-2.3 were trained."""

from typing import Any

import pytest


def classifier(keras: Any, optimizer: Any = "adam", outputs: int = 1) -> Any:
    model = keras.models.Sequential()
    model.add(keras.layers.Dense(8, activation="relu", input_shape=(4,)))
    model.add(keras.layers.Dense(outputs, activation="sigmoid" if outputs == 1 else "softmax"))
    loss = "binary_crossentropy" if outputs == 1 else "sparse_categorical_crossentropy"
    model.compile(optimizer, loss, metrics=["accuracy"])
    return model


def batches(x: Any, y: Any, size: int = 8) -> Any:
    while True:
        for at in range(0, len(x), size):
            yield x[at : at + size], y[at : at + size]


@pytest.mark.parametrize("outputs", [1, 3])
def test_classes_and_probabilities_are_predicted(tf, points, outputs):
    import keras

    x, _ = points
    model = classifier(keras, outputs=outputs)

    classes, probabilities = model.predict_classes(x), model.predict_proba(x)

    expected = (probabilities > 0.5) if outputs == 1 else probabilities.argmax(axis=-1)
    assert classes.tolist() == expected.astype("int32").tolist()


def test_classes_are_predicted_in_the_second_generation(tf2, points):
    x, _ = points
    model = classifier(tf2.keras, outputs=3)

    assert model.predict_classes(x).tolist() == model.predict(x).argmax(axis=-1).tolist()


def test_samples_of_keras_1_become_batches(tf, points):
    import keras

    x, y = points
    taken = []

    def source() -> Any:
        for batch in batches(x, y):
            taken.append(len(batch[0]))
            yield batch

    history = classifier(keras).fit_generator(
        source(),
        samples_per_epoch=64,
        nb_epoch=2,
        validation_data=batches(x, y),
        nb_val_samples=32,
        max_q_size=1,
        nb_worker=1,
        pickle_safe=False,
        verbose=0,
    )

    assert history.params["steps"] == 8
    assert len(history.history["val_loss"]) == 2
    assert len(taken) >= 16


def test_generators_are_evaluated_and_predicted(tf, points):
    import keras

    x, y = points
    model = classifier(keras)

    loss, _ = model.evaluate_generator(batches(x, y), val_samples=64)
    outputs = model.predict_generator(batches(x, y), steps=8)

    assert loss == pytest.approx(model.evaluate(x, y, verbose=0)[0], rel=1e-4)
    assert outputs.shape == (64, 1)


def test_a_sequence_is_read_by_workers(tf, points):
    import keras

    x, y = points

    class Parts(keras.utils.Sequence):
        def __len__(self) -> int:
            return 8

        def __getitem__(self, index: int) -> Any:
            return x[index * 8 : index * 8 + 8], y[index * 8 : index * 8 + 8]

    losses = (
        classifier(keras)
        .fit_generator(Parts(), epochs=3, workers=2, use_multiprocessing=True, verbose=0)
        .history["loss"]
    )

    assert losses[-1] < losses[0]


def test_the_second_generation_trains_on_generators(tf2, points):
    x, y = points
    model = classifier(tf2.keras)

    losses = model.fit_generator(batches(x, y), steps_per_epoch=8, epochs=3, verbose=0).history

    assert losses["loss"][-1] < losses["loss"][0]
    assert model.evaluate_generator(batches(x, y), steps=2)[0] > 0


def test_a_dataset_and_its_iterators_are_trained_on(tf, points):
    x, y = points

    def dataset() -> Any:
        return tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(16)

    whole = classifier(tf.keras).fit(dataset(), steps_per_epoch=4, verbose=0)
    iterator = dataset().make_one_shot_iterator()
    model = classifier(tf.keras)
    part = model.fit(iterator, steps_per_epoch=4, epochs=2, verbose=0)
    numbers, labels = dataset().make_one_shot_iterator().get_next()
    tensors = classifier(tf.keras).fit(numbers, labels, steps_per_epoch=4, verbose=0)

    assert len(whole.history["loss"]) == len(tensors.history["loss"]) == 1
    assert part.history["loss"][1] < part.history["loss"][0] * 1.1
    assert model.evaluate(dataset().make_one_shot_iterator(), steps=4, verbose=0)[0] > 0
    assert model.predict(dataset().make_one_shot_iterator(), steps=4).shape == (64, 1)


def test_a_callback_sees_the_validation_data(tf, points):
    import keras

    x, y = points
    seen = []

    class Look(keras.callbacks.Callback):
        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            seen.append([len(part) for part in self.validation_data])

    classifier(keras).fit(x, y, validation_data=(x[:8], y[:8]), verbose=0, callbacks=[Look()])
    classifier(keras).fit(x, y, validation_split=0.25, verbose=0, callbacks=[Look()])

    assert seen == [[8, 8, 8], [16, 16, 16]]


def test_model_of_scripts_own_class_trains_in_graph(tf, points):
    x, y = points

    class Own(tf.keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.norm = tf.keras.layers.BatchNormalization()
            self.out = tf.keras.layers.Dense(1, activation="sigmoid")

        def call(self, inputs: Any, training: Any = None) -> Any:
            return self.out(self.norm(inputs, training=training))

    model = Own()
    model.compile(tf.train.AdamOptimizer(0.05), "binary_crossentropy")

    losses = model.fit(x, y, epochs=5, verbose=0).history["loss"]

    assert losses[-1] < losses[0]
    assert model.predict(x).shape == (64, 1)


def test_layers_in_script_classes_follow_keras_2(tf2):
    class Own(tf2.keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.convolution = tf2.keras.layers.Conv2D(2, 3)
            self.drop = tf2.keras.layers.Dropout(0.5)

        def call(self, inputs: Any) -> Any:
            return self.drop(self.convolution(inputs))

    @tf2.function
    def train(images: Any) -> Any:
        return own(images, training=True)

    own = Own()

    assert train(tf2.ones((1, 8, 8, 1))).shape == (1, 6, 6, 2)


def test_images_of_another_shape_can_be_reshaped(tf):
    import numpy as np

    model = tf.keras.Sequential([tf.keras.layers.Reshape((784,), input_shape=(784,))])
    images = tf.placeholder(tf.float32, (None, 28, 28))

    outputs = model(images)

    with tf.Session() as session:
        assert session.run(outputs, {images: np.zeros((2, 28, 28))}).shape == (2, 784)
