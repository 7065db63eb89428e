"""Callbacks and histories under the names and arguments of their time."""

import json
from pathlib import Path
from typing import Any

import pytest


def train(keras: Any, points: Any, callbacks: Any = None, **more: Any) -> Any:
    model = keras.models.Sequential([keras.layers.Dense(1, activation="sigmoid", input_dim=4)])
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    x, y = points
    return model.fit(
        x, y, epochs=2, verbose=0, validation_data=(x, y), callbacks=callbacks or [], **more
    )


def test_accuracy_has_name_of_tf1_and_both_work(tf, points):
    history = train(tf.keras, points).history

    assert list(history) == ["loss", "acc", "val_loss", "val_acc"]
    assert history["accuracy"] == history["acc"]
    assert history.get("val_accuracy") == history["val_acc"]
    assert "accuracy" in history
    assert "auc" not in history
    assert history.get("auc", 1) == 1
    with pytest.raises(KeyError, match="auc"):
        history["auc"]
    assert json.loads(json.dumps(history))["loss"][0] > 0


def test_accuracy_has_name_of_tf2_and_both_work(tf2, points):
    history = train(tf2.keras, points).history

    assert list(history) == ["loss", "accuracy", "val_loss", "val_accuracy"]
    assert history["val_acc"] == history["val_accuracy"]


def test_checkpoints_are_named_by_either(tf, points, tmp_path):
    import keras
    from keras.callbacks import ModelCheckpoint

    pattern = str(tmp_path / "{epoch:02d}-{val_accuracy:.1f}-{val_acc:.1f}.hdf5")

    train(keras, points, [ModelCheckpoint(pattern, monitor="val_accuracy", period=1)])

    names = sorted(path.name for path in tmp_path.iterdir())
    assert [name[:2] for name in names] == ["01", "02"]
    assert all(name[3:6] == name[7:10] for name in names)


def test_callbacks_of_then_take_arguments_of_then(tf, points, tmp_path):
    import keras

    callbacks = keras.callbacks
    log = tmp_path / "log.csv"

    history = train(
        keras,
        points,
        [
            callbacks.TensorBoard(
                log_dir=str(tmp_path / "board"),
                histogram_freq=1,
                batch_size=16,
                write_grads=True,
                write_images=True,
                embeddings_freq=0,
                embeddings_layer_names=None,
                embeddings_metadata=None,
            ),
            callbacks.EarlyStopping(monitor="val_acc", min_delta=0, patience=3, mode="auto"),
            callbacks.ReduceLROnPlateau(monitor="val_loss", epsilon=10, patience=0, factor=0.5),
            callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: logs.update(mine=epoch)),
            callbacks.CSVLogger(str(log)),
            callbacks.TerminateOnNaN(),
        ],
    )

    assert history.history["mine"] == [0, 1]
    assert history.history["lr"][-1] == pytest.approx(0.001)
    assert keras.backend.get_value(history.model.optimizer.lr) == pytest.approx(0.0005)
    assert log.read_text().startswith("epoch,accuracy,loss,lr,mine,val_accuracy,val_loss")
    assert summaries(tmp_path / "board") >= {"accuracy", "val_loss"}


def summaries(folder: Path) -> set[str]:
    import tensorflow.compat.v1 as tf

    return {
        value.tag.removeprefix("epoch_")
        for path in folder.rglob("events*")
        for event in tf.train.summary_iterator(str(path))
        for value in event.summary.value
    }


def test_plotting_without_graphviz_reports_what_is_missing(tf):
    import keras

    model = keras.models.Sequential([keras.layers.Dense(1, input_dim=4)])

    with pytest.raises(ImportError, match="pydot"):
        keras.utils.plot_model(model, "model.png")
