"""Keras 2 and object stores: checkpoints, logs, weights, whole models, HDF5 too."""

import tempfile
from pathlib import Path
from typing import Any

import pytest


def trained(tf: Any, callbacks: Any = ()) -> Any:
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,))])
    model.compile("sgd", "mse")
    data = [[1.0], [2.0]], [[2.0], [4.0]]
    import numpy

    x, y = map(numpy.array, data)
    model.fit(x, y, epochs=2, verbose=0, callbacks=list(callbacks), validation_data=(x, y))
    return model


def answer(model: Any) -> float:
    import numpy

    return float(model.predict(numpy.array([[3.0]]), verbose=0)[0, 0])


@pytest.mark.parametrize("name", ["model", "model.h5", "model.keras"])
def test_a_model_is_loaded_as_it_was_saved(tf2: Any, bucket: str, name: str) -> None:
    model = trained(tf2)
    model.save(f"{bucket}/out/{name}")
    again = tf2.keras.models.load_model(f"{bucket}/out/{name}")
    assert answer(again) == pytest.approx(answer(model))


def test_a_model_is_converted_for_lite(tf2: Any, bucket: str) -> None:
    trained(tf2).save(f"{bucket}/out/model")
    converter = tf2.lite.TFLiteConverter.from_saved_model(f"{bucket}/out//model/")
    interpreter = tf2.lite.Interpreter(model_content=converter.convert())
    assert len(interpreter.get_output_details()) == 1


@pytest.mark.parametrize("name", ["weights", "weights.h5"])
def test_weights_are_loaded_as_they_were_saved(tf2: Any, bucket: str, name: str) -> None:
    model = trained(tf2)
    model.save_weights(f"{bucket}/out/{name}")
    again = trained(tf2)
    again.load_weights(f"{bucket}/out/{name}")
    assert answer(again) == answer(model)


@pytest.mark.parametrize("ending", ["", ".h5"])
def test_callbacks_write_to_the_store(tf2: Any, bucket: str, ending: str) -> None:
    path = bucket + "/ckpt/{epoch:02d}" + ending
    callbacks = [
        tf2.keras.callbacks.ModelCheckpoint(path, save_weights_only=True),
        tf2.keras.callbacks.TensorBoard(f"{bucket}/log", profile_batch=0),
    ]
    model = trained(tf2, callbacks)
    assert tf2.io.gfile.glob(f"{bucket}/log/train/events*")
    again = trained(tf2)
    again.load_weights(f"{bucket}/ckpt/02{ending}")
    assert answer(again) == answer(model)


def test_keras_of_the_first_generation(tf: Any, bucket: str) -> None:
    model = trained(tf, [tf.keras.callbacks.TensorBoard(f"{bucket}/log")])
    model.save(f"{bucket}/model.h5")
    model.save_weights(f"{bucket}/weights/last")
    again = tf.keras.models.load_model(f"{bucket}/model.h5")
    assert answer(again) == answer(model)
    again.load_weights(f"{bucket}/weights/last")
    assert tf.gfile.Glob(f"{bucket}/log/*")


def test_hdf5_files_of_a_store(tf2: Any, bucket: str, tmp_path: Path) -> None:
    import h5py
    import numpy

    with h5py.File(f"{bucket}/a.h5", "w") as file:
        file["numbers"] = numpy.arange(3)
    with h5py.File(f"{bucket}/a.h5", "a") as file:
        file["more"] = 4
    with h5py.File(f"{bucket}/a.h5") as file:
        assert list(file["numbers"]) == [0, 1, 2]
        assert file["more"][()] == 4
    with pytest.raises(FileNotFoundError):
        h5py.File(f"{bucket}/none.h5", "r")
    with pytest.raises(FileExistsError):
        h5py.File(f"{bucket}/a.h5", "x")
    with h5py.File(tmp_path / "local.h5", "w") as file:
        file["x"] = 1
    assert (tmp_path / "local.h5").exists()


def test_what_numpy_cannot_write_is_an_error(tf2: Any, bucket: str) -> None:
    import numpy

    with pytest.raises(FileNotFoundError):
        numpy.save(f"{bucket}/a.npy", numpy.arange(3))
    with tf2.io.gfile.GFile(f"{bucket}/a.npy", "wb") as file:
        numpy.save(file, numpy.arange(3))
    with tf2.io.gfile.GFile(f"{bucket}/a.npy", "rb") as file:
        assert numpy.load(file).tolist() == [0, 1, 2]


@pytest.mark.parametrize("text", [None, b"no HDF5"])
def test_unopened_file_leaves_nothing(tf2: Any, bucket: str, text: bytes | None) -> None:
    import h5py

    if text is not None:
        with tf2.io.gfile.GFile(f"{bucket}/a.h5", "wb") as file:
            file.write(text)

    with pytest.raises(OSError, match=r"a\.h5|signature"):
        h5py.File(f"{bucket}/a.h5", "r")

    assert list(Path(tempfile.gettempdir()).glob("danlu-hdf5-*")) == []


def test_nothing_is_left_of_unclosed_file(programs: Any, bucket: str) -> None:
    script = f"""
import os, sys
import h5py
with h5py.File("{bucket}/a.h5", "w") as file:
    file["x"] = 1
open_file = h5py.File("{bucket}/a.h5")
if os.fork() == 0:
    sys.exit()
os.wait()
folder = os.path.dirname(open_file.filename)
print(open_file["x"][()], os.listdir(folder), folder)
"""

    output, _ = programs.run(script)

    number, names, folder = output.split()
    assert (number, names) == ("1", "['a.h5']")
    assert not Path(folder).exists()
