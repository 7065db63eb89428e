"""Files that TensorFlow 1.15.5 wrote restore and give the same predictions (``old_files.py``)."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

spec = importlib.util.spec_from_file_location("old_files", Path(__file__).with_name("old_files.py"))
old_files = importlib.util.module_from_spec(spec)
spec.loader.exec_module(old_files)

WRITTEN = Path(old_files.FOLDER)
EXPECTED = json.loads((WRITTEN / "expected.json").read_text())


def check(found, name):
    np.testing.assert_allclose(found, EXPECTED[name], rtol=1e-5, atol=1e-6)


def test_saver_restores_checkpoint_by_name(tf):
    x, y = old_files.network(tf)
    with tf.Session() as session:
        tf.train.Saver().restore(session, tf.train.latest_checkpoint(str(WRITTEN / "saver")))
        check(session.run(y, {x: old_files.X}), "saver")


def test_meta_graph_is_imported_and_restored(tf):
    path = str(WRITTEN / "saver" / "model.ckpt")
    with tf.Session() as session:
        tf.train.import_meta_graph(f"{path}.meta").restore(session, path)
        check(session.run("y:0", {"x:0": old_files.X}), "saver")


def test_frozen_graph_gives_same_result(tf):
    graph = tf.GraphDef.FromString((WRITTEN / "frozen.pb").read_bytes())
    tf.import_graph_def(graph, name="")
    with tf.Session() as session:
        check(session.run("y:0", {"x:0": old_files.X}), "saver")


@pytest.mark.parametrize("file", ["keras/weights", "keras.h5"])
def test_keras_weights_are_restored(tf, file):
    with tf.Session():
        model = old_files.keras_model(tf)
        model.load_weights(str(WRITTEN / file))
        check(model.predict(old_files.X), "keras")


def test_keras_model_is_loaded(tf):
    with tf.Session():
        check(tf.keras.models.load_model(str(WRITTEN / "keras.h5")).predict(old_files.X), "keras")


def test_saved_model_has_its_table(tf):
    with tf.Session() as session:
        loaded = tf.saved_model.loader.load(session, ["serve"], str(WRITTEN / "saved"))
        names = loaded.signature_def["serving_default"]
        feed = {names.inputs["words"].name: ["c", "a", "z"]}
        check(session.run(names.outputs["found"].name, feed), "table")


def test_estimator_continues_from_old_folder(tf, tmp_path):
    for file in (WRITTEN / "estimator").iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    estimator = tf.estimator.Estimator(old_files.model_fn, str(tmp_path))
    rows = estimator.predict(lambda: old_files.inputs(tf), yield_single_examples=False)
    check(next(iter(rows))["y"], "estimator")
    estimator.train(lambda: old_files.inputs(tf), steps=1)
    assert estimator.get_variable_value("global_step") == 4


def test_recurrent_variables_have_old_names(tf):
    old_files.keras_model(tf)
    tf.keras.layers.ConvLSTM2D(2, 2)(tf.keras.Input((3, 5, 5, 1)))
    names = [variable.op.name for variable in tf.global_variables()]
    assert names[0] == "lstm/kernel"
    assert "bidirectional/forward_gru/kernel" in names
    assert "conv_lst_m2d/kernel" in names
