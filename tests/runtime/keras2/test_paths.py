"""Every place where scripts of 2016-2022 looked for a part of Keras."""

import importlib

import pytest

OLD_PLACES = [
    ("keras.layers.core", "Dense", lambda Dense: Dense(3).units == 3),
    ("keras.layers.convolutional", "ZeroPadding2D", lambda layer: layer(2).padding[0] == (2, 2)),
    ("keras.layers.convolutional_recurrent", "ConvLSTM2D", lambda layer: layer(4, 3).filters == 4),
    ("keras.layers.recurrent", "LSTM", lambda layer: layer(5).units == 5),
    ("keras.layers.normalization", "BatchNormalization", lambda layer: layer().axis == -1),
    ("keras.layers.advanced_activations", "LeakyReLU", lambda layer: layer(0.2).alpha == 0.2),
    ("keras.layers.merge", "concatenate", callable),
    ("keras.layers.wrappers", "TimeDistributed", lambda layer: issubclass(layer, object)),
    ("keras.layers.embeddings", "Embedding", lambda layer: layer(7, 2).input_dim == 7),
    ("keras.layers.local", "LocallyConnected1D", lambda layer: layer(2, 3).filters == 2),
    ("keras.layers.noise", "GaussianNoise", lambda layer: layer(0.1).stddev == 0.1),
    ("keras.layers.pooling", "MaxPooling2D", lambda layer: layer().pool_size == (2, 2)),
    ("keras.layers.cudnn_recurrent", "CuDNNGRU", lambda layer: layer(2).units == 2),
    ("keras.engine", "Layer", lambda layer: layer(name="mine").name == "mine"),
    ("keras.engine", "InputSpec", lambda spec: spec(ndim=3).ndim == 3),
    ("keras.engine.topology", "Input", lambda make: make((3,)).shape.as_list() == [None, 3]),
    ("keras.engine.topology", "get_source_inputs", callable),
    ("keras.engine.training", "Model", lambda model: model.__name__ == "Model"),
    ("keras.engine.base_layer", "Layer", lambda layer: layer(name="mine").name == "mine"),
    ("keras.objectives", "mean_squared_error", callable),
    ("keras.initializations", "glorot_uniform", callable),
    ("keras.backend.tensorflow_backend", "_get_available_gpus", lambda gpus: gpus() == []),
    ("keras.backend.tensorflow_backend", "set_session", callable),
    ("keras.backend.common", "floatx", lambda floatx: floatx() == "float32"),
    ("keras.utils.np_utils", "to_categorical", lambda to: to([1], 3).tolist() == [[0, 1, 0]]),
    ("keras.utils.data_utils", "get_file", callable),
    ("keras.utils.generic_utils", "Progbar", lambda bar: bar(9).target == 9),
    ("keras.utils.io_utils", "HDF5Matrix", callable),
    ("keras.utils.vis_utils", "plot_model", callable),
    ("keras.utils.visualize_util", "plot", callable),
    ("keras.utils.layer_utils", "count_params", lambda count: count([]) == 0),
    ("keras.utils.training_utils", "multi_gpu_model", callable),
    (
        "keras.preprocessing.sequence",
        "pad_sequences",
        lambda pad: pad([[1]], 2).tolist()[0] == [0, 1],
    ),
    ("keras.preprocessing.text", "one_hot", lambda hot: len(hot("a b", 9)) == 2),
    ("keras.preprocessing.image", "array_to_img", callable),
    ("keras.applications.vgg16", "VGG16", callable),
    ("keras.applications.imagenet_utils", "preprocess_input", callable),
    ("keras.datasets.mnist", "load_data", callable),
    ("keras.datasets.cifar10", "load_data", callable),
    ("keras.wrappers.scikit_learn", "KerasClassifier", callable),
    ("keras.constraints", "maxnorm", lambda norm: norm(3).max_value == 3),
    ("keras.regularizers", "l1l2", lambda make: float(make(0.5, 0.25).l2) == 0.25),
    ("keras.regularizers", "WeightRegularizer", lambda make: float(make(l2=0.5).l2) == 0.5),
    ("keras.initializers", "he_normal", lambda make: make(seed=3).seed == 3),
    ("keras.models", "model_from_yaml", callable),
    ("keras.models", "Input", lambda make: make((3,)).shape.as_list() == [None, 3]),
    ("keras.legacy.interfaces", "legacy_dense_support", lambda mark: mark(len) is len),
    ("keras.optimizers", "TFOptimizer", callable),
    ("tensorflow.keras.layers.core", "Dense", lambda Dense: Dense(3).units == 3),
    ("tensorflow.keras.utils.np_utils", "to_categorical", lambda to: to([0]).tolist() == [[1]]),
    ("tensorflow.keras.wrappers.scikit_learn", "KerasRegressor", callable),
    ("tensorflow.keras.engine.base_layer_utils", "make_variable", callable),
    ("tensorflow.keras.preprocessing.sequence", "_remove_long_seq", callable),
]


def test_name_is_found_where_it_used_to_be(tf):
    wrong = [
        f"{path}.{name}"
        for path, name, holds in OLD_PLACES
        if not holds(getattr(importlib.import_module(path), name))
    ]

    assert wrong == []


def test_the_second_generation_has_the_same_places(tf2):
    missing = [
        f"{path}.{name}"
        for path, name, _ in OLD_PLACES
        if not callable(getattr(importlib.import_module(path), name))
    ]

    assert missing == []


def test_parts_are_found_without_importing_them(tf):
    import keras

    assert keras.layers.core.Dense(3).units == 3
    assert keras.utils.np_utils.to_categorical([1]).tolist() == [[0, 1]]
    assert tf.keras.utils.np_utils.to_categorical([1]).tolist() == [[0, 1]]
    assert keras.backend.tensorflow_backend is keras.backend


def test_standalone_library_and_one_inside_report_their_versions(tf):
    import keras

    assert keras.__version__ == "2.3.1"
    assert tf.keras.__version__ == "2.2.4-tf"


def test_both_names_of_keras_share_one_backend(tf):
    import keras
    from tensorflow.keras import backend

    assert keras.backend is backend
    assert keras.models.Sequential == tf.keras.Sequential
    assert keras.backend.tf.Session is tf.Session


def test_a_star_import_brings_the_layers(tf):
    place: dict[str, object] = {}

    exec("from keras.layers import *", place)

    assert place["Dense"](3).units == 3  # type: ignore[operator]
    assert place["Conv2D"](3, 5, 5).kernel_size == (5, 5)  # type: ignore[operator]
    assert place["MaxoutDense"](3).nb_feature == 4  # type: ignore[operator]
    with pytest.raises(ValueError, match="mode='minus'"):
        place["merge"]([], mode="minus")  # type: ignore[operator]


def test_an_unknown_name_is_answered_with_the_nearest(tf):
    import keras

    with pytest.raises(AttributeError, match="Did you mean 'to_categorical'"):
        keras.utils.to_categoricals  # noqa: B018


def test_an_unknown_module_is_not_found(tf):
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("keras.layers.there_never_was")


def test_dimensions_of_images_have_their_older_names(tf):
    from keras import backend as K

    K.set_image_dim_ordering("th")

    assert K.image_dim_ordering() == "th"
    assert K.image_data_format() == "channels_first"
    with pytest.raises(ValueError, match="'tf' or 'th'"):
        K.set_image_dim_ordering("nhwc")
