"""Programs of Keras 1, translated as Keras 2.0-2.3 translated them."""

import json

import pytest


def test_a_network_of_keras_1_trains(tf, points):
    from keras.constraints import maxnorm
    from keras.layers.core import Activation, Dense, Dropout
    from keras.models import Sequential
    from keras.regularizers import l2

    x, y = points
    model = Sequential()
    model.add(Dense(output_dim=16, input_dim=4, init="uniform", W_regularizer=l2(1e-4)))
    model.add(Activation("tanh"))
    model.add(Dropout(p=0.1))
    model.add(Dense(output_dim=1, init="glorot_normal", W_constraint=maxnorm(3), bias=True))
    model.add(Activation("sigmoid"))
    model.compile(loss="binary_crossentropy", optimizer="adagrad", metrics=["accuracy"])

    losses = model.fit(x, y, nb_epoch=20, batch_size=8, verbose=0).history["loss"]

    assert len(losses) == 20
    assert losses[-1] < losses[0]
    assert model.layers[0].kernel_regularizer.l2 == pytest.approx(1e-4)


def test_convolutions_of_keras1_have_kernel_of_two_sides(tf):
    import keras
    from keras.layers import Conv2D, Convolution2D

    first = Convolution2D(8, 3, 5, border_mode="same", subsample=(2, 2), init="he_normal")
    second = Convolution2D(8, nb_row=3, nb_col=5, dim_ordering="tf")

    assert (first.kernel_size, first.strides, first.padding) == ((3, 5), (2, 2), "same")
    assert (second.kernel_size, second.data_format) == ((3, 5), "channels_last")
    assert Conv2D(8, 3, 3).kernel_size == (3, 3)
    assert type(first) is tf.keras.layers.Conv2D
    assert isinstance(tf.keras.layers.Conv2D(8, 3), keras.layers.Conv2D)


def test_tf_keras_reads_third_number_as_stride(tf):
    layer = tf.keras.layers.Conv2D(8, 8, 4)

    assert (layer.kernel_size, layer.strides) == ((8, 8), (4, 4))


def test_class_of_scripts_own_builds_on_convolution(tf):
    from keras.layers import Conv2D

    class Mine(Conv2D):
        pass

    layer = Mine(8, 3, 3, activation="relu")

    assert isinstance(layer, Mine)
    assert layer.kernel_size == (3, 3)
    assert not isinstance(Conv2D(8, 3), Mine)


ARGUMENTS = [
    ("LSTM", {"output_dim": 3, "inner_init": "zeros"}, "units", 3),
    ("LSTM", {"output_dim": 3, "dropout_W": 0.2}, "dropout", 0.2),
    ("LSTM", {"output_dim": 3, "dropout_U": 0.2}, "recurrent_dropout", 0.2),
    ("LSTM", {"output_dim": 3, "forget_bias_init": "zero"}, "unit_forget_bias", False),
    ("GRU", {"output_dim": 3, "consume_less": "gpu"}, "implementation", 2),
    ("Convolution1D", {"nb_filter": 4, "filter_length": 3}, "kernel_size", (3,)),
    ("MaxPooling1D", {"pool_length": 4}, "pool_size", (4,)),
    ("MaxPooling2D", {"border_mode": "same"}, "padding", "same"),
    ("GaussianNoise", {"sigma": 0.5}, "stddev", 0.5),
    ("SpatialDropout2D", {"p": 0.5}, "rate", 0.5),
    ("UpSampling1D", {"length": 3}, "size", 3),
    ("ZeroPadding2D", {"dim_ordering": "th"}, "data_format", "channels_first"),
    ("Embedding", {"input_dim": 5, "output_dim": 2, "dropout": 0.0}, "output_dim", 2),
    ("BatchNormalization", {"mode": 0, "gamma_init": "ones"}, "axis", -1),
]


def test_an_argument_of_keras_1_is_understood(tf):
    import keras

    layers = [getattr(keras.layers, layer)(**old) for layer, old, _, _ in ARGUMENTS]

    found = [getattr(made, row[2]) for made, row in zip(layers, ARGUMENTS, strict=True)]
    assert found == [value for *_, value in ARGUMENTS]


def test_model_names_its_ends_as_keras_1_did(tf, points):
    from keras.layers import Dense, Input
    from keras.models import Model

    x, y = points
    inputs = Input((4,))
    model = Model(input=inputs, output=Dense(1)(inputs))
    model.compile("sgd", "mse")

    losses = model.fit(x, y, nb_epoch=3, verbose=0).history["loss"]

    assert losses[-1] < losses[0]


def test_what_keras_2_cannot_do_is_reported(tf):
    from keras.layers import Embedding

    with pytest.raises(ValueError, match=r"Embedding\(dropout=0.3\)"):
        Embedding(5, 2, dropout=0.3)


def test_each_translation_is_noted_once(tf, tmp_path, monkeypatch):
    from keras.layers import Dense

    monkeypatch.setenv("DANLU_BOX", str(tmp_path))

    for _ in range(3):
        Dense(output_dim=2)

    notes = [json.loads(line) for line in (tmp_path / "translation.jsonl").open()]
    assert [(note["kind"], note["text"]) for note in notes] == [
        ("mapped", "Dense(output_dim=…) of Keras 1 is units in Keras 2")
    ]


def test_an_initializer_of_keras_1_needs_no_dtype(tf):
    import numpy as np
    from keras import backend as K
    from keras.layers import Dense

    layer = Dense(output_dim=2, input_dim=3, init=lambda shape, name=None: K.ones(shape))
    layer(K.placeholder((None, 3)))

    with tf.Session() as session:
        session.run(layer.kernel.initializer)  # needs no other to be there before
    assert np.array_equal(layer.get_weights()[0], np.ones((3, 2)))


@pytest.mark.parametrize(
    ("mode", "expected"),
    [("sum", 5.0), ("mul", 6.0), ("ave", 2.5), ("max", 3.0), ("dot", 12.0)],
)
def test_tensors_are_merged_by_a_mode(tf, mode, expected):
    import numpy as np
    from keras.layers import Input, merge
    from keras.models import Model

    left, right = Input((2,)), Input((2,))
    model = Model([left, right], merge([left, right], mode=mode, dot_axes=1))

    result = model.predict([np.full((1, 2), 2.0), np.full((1, 2), 3.0)])

    assert result.ravel()[0] == pytest.approx(expected)


def test_tensors_are_merged_by_a_function_and_joined(tf):
    import numpy as np
    from keras.layers import Input, merge
    from keras.models import Model

    left, right = Input((2,)), Input((2,))
    joined = merge([left, right], mode="concat", concat_axis=1)
    less = merge([left, right], mode=lambda two: two[0] - two[1], output_shape=(2,))

    both = Model([left, right], [joined, less]).predict([np.ones((1, 2)), np.full((1, 2), 3.0)])

    assert both[0].tolist() == [[1, 1, 3, 3]]
    assert both[1].tolist() == [[-2, -2]]
    with pytest.raises(ValueError, match="mode='minus'"):
        merge([left, right], mode="minus")


def test_two_models_are_joined_by_a_merge_layer(tf, points):
    from keras.layers import Dense, Merge
    from keras.models import Sequential

    x, y = points
    left, right = Sequential([Dense(3, input_dim=4)]), Sequential([Dense(3, input_dim=4)])
    model = Sequential()
    model.add(Merge([left, right], mode="concat"))
    model.add(Dense(1, activation="sigmoid"))
    model.compile("adam", "binary_crossentropy")

    losses = model.fit([x, x], y, nb_epoch=5, verbose=0).history["loss"]

    assert losses[-1] < losses[0]
    assert len(model.get_weights()) == 6


@pytest.mark.parametrize("name", ["MaxoutDense", "Highway"])
def test_a_layer_that_keras_2_left_out_learns(tf, points, name):
    import keras

    x, y = points
    first = (4,) if name == "MaxoutDense" else ()
    model = keras.models.Sequential()
    model.add(getattr(keras.layers, name)(*first, input_dim=4))
    model.add(keras.layers.Dense(1, activation="sigmoid"))
    model.compile("adam", "binary_crossentropy")

    losses = model.fit(x, y, nb_epoch=20, verbose=0).history["loss"]

    assert losses[-1] < losses[0]


def test_a_dense_layer_for_each_step(tf):
    import numpy as np
    from keras.layers import TimeDistributedDense
    from keras.models import Sequential

    model = Sequential([TimeDistributedDense(3, input_length=5, input_dim=2)])

    assert model.predict(np.ones((1, 5, 2))).shape == (1, 5, 3)


def test_atrous_and_transposed_convolutions(tf):
    from keras.layers import AtrousConvolution2D, Deconvolution2D

    atrous = AtrousConvolution2D(4, 3, 3, atrous_rate=(2, 2), border_mode="same")
    back = Deconvolution2D(4, 3, 3, output_shape=(None, 8, 8, 4), subsample=(2, 2))

    assert atrous.dilation_rate == (2, 2)
    assert (back.kernel_size, back.strides) == ((3, 3), (2, 2))


def test_metrics_of_keras_1(tf):
    from keras import backend as K
    from keras.metrics import fmeasure, matthews_correlation, precision, recall

    truth, guess = K.constant([1.0, 1.0, 0.0, 0.0]), K.constant([0.9, 0.1, 0.8, 0.2])

    assert K.eval(precision(truth, guess)) == pytest.approx(0.5, abs=1e-3)
    assert K.eval(recall(truth, guess)) == pytest.approx(0.5, abs=1e-3)
    assert K.eval(fmeasure(truth, guess)) == pytest.approx(0.5, abs=1e-3)
    assert K.eval(matthews_correlation(truth, guess)) == pytest.approx(0.0, abs=1e-3)


def test_probabilities_become_classes(tf):
    import numpy as np
    from keras.utils.np_utils import probas_to_classes

    assert probas_to_classes(np.array([[0.1, 0.9], [0.8, 0.2]])).tolist() == [1, 0]
    assert probas_to_classes(np.array([[0.7], [0.2]])).tolist() == [1, 0]
