"""Models on disk and as text, in the formats of their time."""

import pytest


def trained(keras, points):
    x, y = points
    model = keras.models.Sequential()
    model.add(keras.layers.Dense(5, activation="relu", input_dim=4, name="hidden"))
    model.add(keras.layers.Dense(1, activation="sigmoid"))
    model.compile(keras.optimizers.Adam(lr=0.25), "binary_crossentropy", metrics=["accuracy"])
    model.fit(x, y, verbose=0)
    return model


@pytest.mark.parametrize("name", ["model.h5", "model.hdf5", "model"])
def test_a_model_comes_back_from_its_file(tf, points, tmp_path, name):
    import keras
    import numpy as np

    x, y = points
    model = trained(keras, points)

    model.save(str(tmp_path / name))
    again = keras.models.load_model(str(tmp_path / name))

    assert (tmp_path / name).read_bytes()[:4] == b"\x89HDF"
    assert np.allclose(again.predict(x), model.predict(x))
    assert keras.backend.get_value(again.optimizer.lr) == 0.25
    assert again.fit(x, y, verbose=0).history["loss"][0] > 0


def test_layer_and_loss_of_scripts_own_come_back(tf, points, tmp_path):
    import keras
    import numpy as np
    from keras import backend as K
    from keras.engine.topology import Layer

    class Twice(Layer):
        def __init__(self, output_dim, **kwargs):
            self.output_dim = output_dim
            super().__init__(**kwargs)

        def build(self, input_shape):
            self.kernel = self.add_weight(
                name="kernel",
                shape=(input_shape[1], self.output_dim),
                initializer="uniform",
                trainable=True,
            )
            super().build(input_shape)

        def call(self, x):
            return 2 * K.dot(x, self.kernel)

        def compute_output_shape(self, input_shape):
            return (input_shape[0], self.output_dim)

        def get_config(self):
            return dict(super().get_config(), output_dim=self.output_dim)

    def square(y_true, y_pred):
        return K.mean(K.square(y_true - y_pred), axis=-1)

    x, y = points
    model = keras.models.Sequential([Twice(3, input_shape=(4,)), keras.layers.Dense(1)])
    model.compile("adam", square)
    model.fit(x, y, verbose=0)

    model.save(str(tmp_path / "own.h5"))
    own = {"Twice": Twice, "square": square}
    again = keras.models.load_model(str(tmp_path / "own.h5"), custom_objects=own)

    assert np.allclose(again.predict(x), model.predict(x))


def test_structures_are_written_as_json_and_yaml(tf, points):
    import keras
    import numpy as np

    x, _ = points
    model = trained(keras, points)

    for again in (
        keras.models.model_from_json(model.to_json()),
        keras.models.model_from_yaml(model.to_yaml()),
    ):
        again.set_weights(model.get_weights())
        assert np.allclose(again.predict(x), model.predict(x))


def test_a_yaml_that_would_run_code_is_refused(tf):
    import keras
    import yaml

    with pytest.raises(yaml.YAMLError):
        keras.models.model_from_yaml("!!python/object/apply:os.system ['true']")


def test_weights_are_loaded_by_the_names_of_layers(tf, points, tmp_path):
    import keras
    import numpy as np

    model = trained(keras, points)
    model.save_weights(str(tmp_path / "weights.h5"))
    other = keras.models.Sequential()
    other.add(keras.layers.Dense(5, input_dim=4, name="hidden"))
    other.add(keras.layers.Dense(7, name="new"))

    other.load_weights(str(tmp_path / "weights.h5"), by_name=True)

    assert np.array_equal(other.get_weights()[0], model.get_weights()[0])


def test_a_saved_model_is_exported_and_read_back(tf, points, tmp_path):
    import numpy as np

    x, _ = points
    model = trained(tf.keras, points)

    tf.keras.experimental.export_saved_model(model, str(tmp_path / "export"))
    again = tf.keras.experimental.load_from_saved_model(str(tmp_path / "export"))

    expected = model.predict(x)
    assert np.allclose(again.predict(x), expected)
    with tf.Graph().as_default(), tf.Session() as session:
        graph = tf.saved_model.loader.load(session, ["serve"], str(tmp_path / "export"))
        served = graph.signature_def["serving_default"]
        output = next(iter(served.outputs.values())).name
        feed = {next(iter(served.inputs.values())).name: x}
        assert np.allclose(session.run(output, feed), expected)
    with pytest.raises(ValueError, match="name an empty folder"):
        tf.keras.experimental.export_saved_model(model, str(tmp_path / "export"))


def test_rows_of_an_hdf5_file_are_trained_on(tf, points, tmp_path):
    import h5py
    import keras
    from keras.utils.io_utils import HDF5Matrix

    x, y = points
    path = str(tmp_path / "data.h5")
    with h5py.File(path, "w") as file:
        file["x"], file["y"] = x, y
    rows = HDF5Matrix(path, "x", start=8, end=40, normalizer=lambda part: part * 2)
    labels = HDF5Matrix(path, "y", start=8, end=40)

    assert rows.shape == (32, 4)
    assert rows[[3, 1]].tolist() == (x[[11, 9]] * 2).tolist()
    assert rows[-1].tolist() == (x[39] * 2).tolist()
    with pytest.raises(IndexError, match="32 rows"):
        rows[32]
    losses = trained(keras, points).fit(rows, labels, shuffle="batch", verbose=0).history
    assert losses["loss"][0] > 0
