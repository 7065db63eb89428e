"""``multi_gpu_model`` with and without GPUs."""

import json


def small(keras):
    inputs = keras.layers.Input((4,))
    hidden = keras.layers.Dense(3, activation="tanh")(inputs)
    return keras.models.Model(inputs, [keras.layers.Dense(1)(hidden), hidden])


def test_without_gpus_it_is_model_itself_with_note(tf, tmp_path, monkeypatch):
    import keras
    from keras.utils import multi_gpu_model

    monkeypatch.setenv("DANLU_BOX", str(tmp_path))
    model = small(keras)

    parallel = multi_gpu_model(model, gpus=4)

    assert parallel is model
    note = json.loads((tmp_path / "translation.jsonl").read_text())
    assert note["text"] == "multi_gpu_model returns the model itself: there is no GPU"


def test_each_device_gets_slice_and_results_are_joined(tf, points):
    import keras
    import numpy as np

    from danlu_runtime.keras2.saved_models import replicated

    x, y = points
    model = small(keras)
    parallel = replicated(model, ["/cpu:0", "/cpu:0", "/cpu:0"], "/cpu:0")
    parallel.compile("sgd", "mse", loss_weights=[1, 0])

    before = model.predict(x)
    assert all(map(np.allclose, parallel.predict(x), before))
    parallel.fit(x, [y, before[1]], verbose=0)
    assert not np.allclose(model.predict(x)[0], before[0])
    assert all(map(np.allclose, parallel.predict(x), model.predict(x)))
