"""Layers made for GPUs, and images made for them, on a machine without one."""

import pytest


@pytest.mark.parametrize("backwards", [False, True])
def test_cudnn_lstm_matches_lstm_with_its_weights(tf, backwards):
    import numpy as np
    from keras.layers import LSTM, CuDNNLSTM
    from keras.models import Sequential

    x = np.random.RandomState(1).rand(3, 5, 2)
    more = {"return_sequences": True, "go_backwards": backwards, "input_shape": (5, 2)}
    fast = Sequential([CuDNNLSTM(4, **more)])
    slow = Sequential([LSTM(4, recurrent_activation="sigmoid", **more)])
    kernel, recurrent, bias = fast.get_weights()
    slow.set_weights([kernel, recurrent, bias[:16] + bias[16:]])

    assert np.allclose(fast.predict(x), slow.predict(x), atol=1e-6)


def test_cudnn_gru_matches_gru_with_its_weights(tf):
    import numpy as np
    from keras.layers import GRU, CuDNNGRU
    from keras.models import Sequential

    x = np.random.RandomState(1).rand(3, 5, 2)
    fast = Sequential([CuDNNGRU(4, input_shape=(5, 2))])
    slow = Sequential(
        [GRU(4, recurrent_activation="sigmoid", reset_after=True, input_shape=(5, 2))]
    )
    weights = [w + 0.1 for w in fast.get_weights()]
    fast.set_weights(weights)
    slow.set_weights([weights[0], weights[1], weights[2].reshape(2, -1)])

    assert np.allclose(fast.predict(x), slow.predict(x), atol=1e-6)


@pytest.mark.parametrize("name", ["CuDNNLSTM", "CuDNNGRU"])
def test_a_cudnn_layer_trains_and_returns_its_state(tf, name):
    import keras
    import numpy as np

    inputs = keras.layers.Input((5, 2))
    outputs, *state = getattr(keras.layers, name)(4, return_state=True)(inputs)
    model = keras.models.Model(inputs, keras.layers.Dense(1)(outputs))
    model.compile(keras.optimizers.Adam(lr=0.05), "mse")

    losses = model.fit(np.ones((8, 5, 2)), np.ones(8), epochs=10, verbose=0).history["loss"]

    assert losses[-1] < losses[0]
    assert len(state) == (2 if name == "CuDNNLSTM" else 1)


def test_images_with_channels_first_train(tf):
    import keras
    import numpy as np
    from keras import backend as K

    K.set_image_dim_ordering("th")
    images = np.random.RandomState(1).rand(16, 3, 8, 8)
    model = keras.models.Sequential()
    model.add(keras.layers.Convolution2D(4, 3, 3, border_mode="same", input_shape=(3, 8, 8)))
    model.add(keras.layers.BatchNormalization(axis=1))
    model.add(keras.layers.MaxPooling2D())
    model.add(keras.layers.Conv2DTranspose(4, 3, strides=2, padding="same"))
    model.add(keras.layers.SeparableConv2D(4, (3, 3)))
    model.add(keras.layers.AveragePooling2D())
    model.add(keras.layers.GlobalAveragePooling2D())
    model.add(keras.layers.Dense(1))
    model.compile("adam", "mse")

    losses = model.fit(images, np.ones(16), epochs=8, verbose=0).history["loss"]

    assert losses[-1] < losses[0]
    assert model.layers[0].output_shape == (None, 4, 8, 8)


@pytest.mark.parametrize("name", ["Conv2D", "Conv2DTranspose", "DepthwiseConv2D", "MaxPooling2D"])
def test_channels_first_and_last_give_the_same_numbers(tf, name):
    import keras
    import numpy as np

    first = np.random.RandomState(1).rand(2, 3, 8, 6)
    arguments = {"DepthwiseConv2D": (3,), "MaxPooling2D": ()}.get(name, (4, 3))

    def model(order, shape):
        layer = getattr(keras.layers, name)(*arguments, data_format=order, input_shape=shape)
        return keras.models.Sequential([layer])

    one, other = model("channels_first", (3, 8, 6)), model("channels_last", (8, 6, 3))
    other.set_weights(one.get_weights())

    expected = other.predict(first.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
    assert np.allclose(one.predict(first), expected, atol=1e-6)
