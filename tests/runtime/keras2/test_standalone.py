"""The package ``keras`` as a library of its own, beside ``tf.keras``.

``keras_2_3.json`` was written by the real keras 2.3.1, with ``keras_2_3_programs``.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runtime.keras2.keras_2_3_programs import CASES, described, trained

RECORDED = json.loads(Path(__file__).with_name("keras_2_3.json").read_text())

LAYERS = [  # class, arguments, shape of a sample, weights, fields that later versions added
    ("Dense", (4,), (3,), ["dense_1/kernel:0", "dense_1/bias:0"], ()),
    ("Conv2D", (3, 3), (6, 6, 2), ["conv2d_1/kernel:0", "conv2d_1/bias:0"], ("groups",)),
    ("ReLU", (), (3,), [], ()),
    ("GlobalMaxPooling1D", (), (4, 2), [], ("keepdims",)),
    ("GaussianNoise", (0.5,), (3,), [], ("seed",)),
    (
        "LSTM",
        (4,),
        (5, 3),
        ["lstm_1/kernel:0", "lstm_1/recurrent_kernel:0", "lstm_1/bias:0"],
        ("time_major",),
    ),
    (
        "SeparableConv2D",
        (3, 3),
        (6, 6, 2),
        [
            f"separable_conv2d_1/{name}:0"
            for name in ("depthwise_kernel", "pointwise_kernel", "bias")
        ],
        ("kernel_initializer", "groups"),
    ),
    (
        "BatchNormalization",
        (),
        (3,),
        [f"batch_normalization_1/{name}:0" for name in ("gamma", "beta")]
        + [f"batch_normalization_1/moving_{name}:0" for name in ("mean", "variance")],
        (),
    ),
]


def test_layers_have_old_names_and_fields(tf):
    import keras

    wrong = []
    for name, arguments, shape, weights, new in LAYERS:
        keras.backend.clear_session()
        layer = getattr(keras.layers, name)(*arguments)
        inputs = keras.layers.Input(shape)
        model = keras.models.Model(inputs, layer(inputs))
        found = [weight.name for weight in layer.weights]
        if found != weights or model.name != "model_1" or not layer.name.endswith("_1"):
            wrong.append((name, layer.name, model.name, found))
        wrong += [(name, field) for field in new if field in layer.get_config()]

    assert wrong == []


def test_fields_have_old_values(tf):
    from keras.layers import GRU, LSTM, BatchNormalization, Dense

    dense = Dense(2, kernel_regularizer="l2").get_config()
    norm = BatchNormalization()
    norm.build((None, 3))

    assert dense["kernel_initializer"] == {
        "class_name": "VarianceScaling",
        "config": {"scale": 1.0, "mode": "fan_avg", "distribution": "uniform", "seed": None},
    }
    assert dense["kernel_regularizer"]["class_name"] == "L1L2"
    assert dense["bias_initializer"] == {"class_name": "Zeros", "config": {}}
    assert dense["dtype"] == "float32"
    assert norm.get_config()["axis"] == -1
    for kind in (LSTM, GRU):
        config = kind(2).get_config()
        assert (config["recurrent_activation"], config["implementation"]) == ("sigmoid", 2)
    assert LSTM(2, "tanh", "hard_sigmoid").get_config()["recurrent_activation"] == "hard_sigmoid"


def test_package_leaves_tf_keras_unchanged(tf):
    import keras

    keras.layers.Dense(3)
    layer = tf.keras.layers.Dense(3)

    assert layer.name == "dense"
    assert tf.keras.layers.LSTM(3).get_config()["recurrent_activation"] == "hard_sigmoid"
    assert keras.layers.Dense == type(keras.layers.Dense(3))  # noqa: E721 - a script's own check
    assert isinstance(layer, keras.layers.Dense)
    assert type(tf.keras.optimizers.Adam()) is not keras.optimizers.Adam


def test_script_classes_belong_to_package(tf):
    from keras import backend as K
    from keras.layers import Layer
    from keras.models import Model

    class Mine(Layer):
        def build(self, shape: Any) -> None:
            self.w = self.add_weight(name="w", shape=(shape[-1], 2), initializer="ones")
            super().build(shape)

        def call(self, x: Any) -> Any:
            self.add_update([K.update_add(self.w, K.ones_like(self.w))], x)
            return K.dot(x, self.w)

    class Net(Model):
        def __init__(self) -> None:
            super().__init__()
            self.first = Mine()

        def call(self, x: Any) -> Any:
            return self.first(x)

    net = Net()
    net.compile("sgd", "mse")
    net.fit(np.ones((4, 3)), np.ones((4, 2)), verbose=0)

    assert net.name == "net_1"
    assert [weight.name for weight in net.weights] == ["mine_1/w:0"]


def test_training_gives_recorded_values(tf, capsys):
    import keras

    wrong = {}
    for name, case in CASES.items():
        found, recorded = described(*trained(keras, *case)), RECORDED[name]
        for key in recorded:
            near = key in ("loss", "weights")
            expected = pytest.approx(recorded[key], rel=1e-4, abs=1e-5) if near else recorded[key]
            if found[key] != expected:
                wrong[name, key] = (found[key], recorded[key])

    assert wrong == {}
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "Epoch 1/2"
    assert printed[1].startswith(" - ")
    assert (
        printed[1].split("s", 1)[1].startswith(f" - loss: {RECORDED['SGD']['loss'][0]:.4f} - acc")
    )


def test_adam_counts_steps_before_reading_them(tf):
    import keras

    model = keras.models.Sequential([keras.layers.Dense(1, input_dim=1, use_bias=False)])
    model.set_weights([np.ones((1, 1))])
    model.compile(keras.optimizers.Adam(lr=0.01), "mse")

    model.train_on_batch(np.ones((4, 1)), np.zeros((4, 1)))

    step = 1 - float(model.get_weights()[0][0, 0])
    assert step / 0.01 == pytest.approx(0.744125, rel=1e-4)
    assert model.optimizer.weights[1].name == "training/Adam/m_0_1:0"


def test_files_have_old_layout(tf, tmp_path):
    import h5py
    import keras

    model, _ = trained(keras, ("Adam", {}))
    place = str(tmp_path / "model")
    model.save(place)
    model.save_weights(str(tmp_path / "weights"))
    again = keras.models.load_model(place)
    again.load_weights(str(tmp_path / "weights"))

    with h5py.File(place) as file:
        assert file.attrs["keras_version"] == "2.3.1"
        config = json.loads(file.attrs["model_config"])
        compiled = json.loads(file.attrs["training_config"])
        assert list(file["model_weights"]) == ["batch_normalization_1", "dense_1", "dense_2"]
        assert "training/Adam/v_0_1:0" in file["optimizer_weights"]
    assert [one["class_name"] for one in config["config"]["layers"]] == [
        *("Dense", "BatchNormalization", "Dense")
    ]
    assert config["config"]["layers"][0]["config"]["batch_input_shape"] == [None, 3]
    assert compiled["optimizer_config"]["config"]["learning_rate"] == pytest.approx(0.001)
    assert compiled["metrics"] == ["accuracy"]
    same = zip(model.optimizer.get_weights(), again.optimizer.get_weights(), strict=True)
    assert all(np.array_equal(*two) for two in same)


def test_bar_shows_samples_and_metrics(tf, capsys):
    import keras

    model = keras.models.Sequential([keras.layers.Dense(1, input_dim=1)])
    model.compile("sgd", "mse", metrics=["mae"])
    data = (np.ones((6, 1)), np.ones((6, 1)))

    model.fit(*data, batch_size=6, validation_data=data)
    model.evaluate(*data, batch_size=6)

    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == ["Train on 6 samples, validate on 6 samples", "Epoch 1/1", ""]
    assert lines[3].startswith(f"6/6 [{'=' * 30}] - ")
    assert [part.split(":")[0] for part in lines[3].split(" - ")[2:]] == [
        *("loss", "mae", "val_loss", "val_mae")
    ]
    assert lines[5].startswith(f"6/6 [{'=' * 30}] - ")


def test_bilinear_upsampling_interpolates_between_corners(tf):
    from keras.layers import UpSampling2D
    from keras.models import Sequential

    model = Sequential([UpSampling2D(interpolation="bilinear", input_shape=(1, 2, 1))])

    assert model.predict(np.array([[[[0.0], [1.0]]]])).ravel()[:4].tolist() == [0, 0.5, 1, 1]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"requirements.txt": "keras==2.2.4\n"}, "2.2.4"),
        ({"requirements.txt": "Keras-Applications==1.0.8\nKeras == 2.1\n"}, "2.1.0"),
        ({"setup.py": "install_requires=['keras==2.0.8']"}, "2.0.8"),
        ({"requirements.txt": "keras==2.15.0"}, "2.3.1"),
        ({"a.py": "import keras\nassert keras.__version__ == '2.1.6'"}, "2.1.6"),
        ({"a.py": "import keras\nassert keras.__version__ >= '2.3'"}, "2.3.1"),
        ({"a.py": "from keras.layers import Dense\nplot(h.history['acc'])"}, "2.2.4"),
        ({"a.py": "from keras.layers import Dense\nplot(h.history['val_accuracy'])"}, "2.3.1"),
        ({"a.py": "from tensorflow import keras\nplot(h.history['acc'])"}, ""),
    ],
)
def test_version_is_read_from_code(tmp_path, files, expected):
    from danlu_runtime.keras2 import keras_version

    for name, text in files.items():
        (tmp_path / name).write_text(text)

    assert keras_version.of_code(tmp_path) == expected


def test_earlier_version_has_other_defaults(tf, tmp_path, monkeypatch):
    (tmp_path / "requirements.txt").write_text("keras==2.2.4\n")
    monkeypatch.setenv("DANLU_CODE", str(tmp_path))
    import keras

    model, history = trained(keras, ("Adam", {}))

    assert keras.__version__ == "2.2.4"
    assert list(history) == ["loss", "acc"]
    assert keras.layers.LSTM(2).get_config()["recurrent_activation"] == "hard_sigmoid"
    assert "lr" in model.optimizer.get_config()
    assert json.loads(model.to_json())["keras_version"] == "2.2.4"


def test_model_lists_trained_weights_before_others(tf):
    from keras.layers import BatchNormalization, Dense, Input
    from keras.models import Model, Sequential

    inputs = Input((2,))
    inner = Sequential([BatchNormalization(input_shape=(2,)), Dense(2)])
    model = Model(inputs, Dense(1)(inner(inputs)))
    values = [np.full(one.shape, place + 1.0) for place, one in enumerate(model.get_weights())]
    model.set_weights(values)

    names = [weight.name.split("/")[-1] for weight in model.weights]
    assert names[-2:] == ["moving_mean:0", "moving_variance:0"]
    order = [one.ravel()[0] for one in inner.get_weights()]
    assert order == [1, 2, 5, 6, 3, 4]  # of the inner model: by layer; of the outer: trained first
    assert [one.ravel()[0] for one in model.get_weights()] == [1, 2, 3, 4, 5, 6, 7, 8]
    with pytest.raises(ValueError, match="8"):
        model.set_weights(values[1:])
