"""Exports and their readers: session_bundle, predictor, saved_model."""

import os

import pytest


def test_a_classification_signature_is_served_by_default(tf, tmp_path):
    from tensorflow.contrib.session_bundle import exporter

    with tf.Graph().as_default(), tf.Session() as session:
        examples = tf.placeholder(tf.string, [None])
        scores = tf.strings.to_number(examples) * tf.Variable(2.0)
        session.run(tf.global_variables_initializer())
        export = exporter.Exporter(tf.train.Saver(sharded=True))
        export.init(
            session.graph.as_graph_def(),
            default_graph_signature=exporter.classification_signature(
                examples, scores_tensor=scores
            ),
            named_graph_signatures={
                "inputs": exporter.generic_signature({"e": examples}),
                "outputs": exporter.generic_signature({"s": scores}),
                "number": exporter.regression_signature(examples, scores),
            },
        )
        folder = export.export(str(tmp_path), tf.constant(3), session)

    assert folder == str(tmp_path / "00000003")
    serve = tf.contrib.predictor.from_saved_model
    assert serve(folder)({"inputs": ["4"]})["scores"].tolist() == [8]
    assert serve(folder, "predict")({"e": ["4"]})["s"].tolist() == [8]
    assert serve(folder, "number")({"inputs": ["4"]})["outputs"].tolist() == [8]


def exported(tf, base, step, **options):
    from tensorflow.contrib.session_bundle import exporter

    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None])
        y = x * tf.Variable(float(step))
        session.run(tf.global_variables_initializer())
        export = exporter.Exporter(tf.train.Saver())
        named = {
            "inputs": exporter.generic_signature({"x": x}),
            "outputs": exporter.generic_signature({"y": y}),
        }
        export.init(named_graph_signatures=named)
        return export.export(str(base), step, session, **options)


def test_only_the_newest_exports_are_kept(tf, tmp_path):
    from tensorflow.contrib.session_bundle import gc

    for step in (1, 2, 3):
        exported(tf, tmp_path, step, exports_to_keep=gc.largest_export_versions(2))

    assert sorted(os.listdir(tmp_path)) == ["00000002", "00000003"]


def test_a_step_is_exported_once(tf, tmp_path):
    exported(tf, tmp_path, 1)

    with pytest.raises(RuntimeError, match="00000001 exists already"):
        exported(tf, tmp_path, 1)


def test_init_comes_before_export(tf, tmp_path):
    from tensorflow.contrib.session_bundle import exporter

    with tf.Session() as session, pytest.raises(ValueError, match=r"Call init\(\)"):
        exporter.Exporter(None).export(str(tmp_path), 1, session)


def test_an_export_is_loaded_into_a_session(tf, tmp_path):
    from tensorflow.contrib.session_bundle import session_bundle

    session, meta = session_bundle.load_session_bundle_from_path(exported(tf, tmp_path, 4))

    signature = meta.signature_def["serving_default"]
    feed = {signature.inputs["x"].name: [2]}
    assert session.run(signature.outputs["y"].name, feed).tolist() == [8]


def test_exports_are_filtered_by_their_version(tf):
    from tensorflow.contrib.session_bundle import gc

    paths = [gc.Path(f"/{n}", n) for n in range(1, 7)]

    def versions(keep):
        return [path.export_version for path in keep(paths)]

    assert versions(gc.largest_export_versions(2)) == [5, 6]
    assert versions(gc.mod_export_version(3)) == [3, 6]
    assert versions(gc.one_of_every_n_export_versions(4)) == [4, 6]
    assert versions(gc.negation(gc.largest_export_versions(5))) == [1]
    both = gc.union(gc.mod_export_version(5), gc.largest_export_versions(1))
    assert versions(both) == [5, 6]


def test_a_predictor_of_an_estimator_gives_its_predictions(tf):
    column = tf.feature_column.numeric_column("x")
    model = tf.estimator.LinearRegressor([column])
    model.train(lambda: ({"x": tf.constant([[1.0]])}, tf.constant([[2.0]])), steps=1)
    serving = tf.estimator.export.build_raw_serving_input_receiver_fn(
        {"x": tf.placeholder(tf.float32, [None, 1])}
    )

    predict = tf.contrib.predictor.from_estimator(model, serving)
    by_key = tf.contrib.predictor.from_estimator(model, serving, output_key="predict")

    wanted = next(model.predict(lambda: {"x": tf.constant([[3.0]])}))["predictions"]
    assert predict({"x": [[3.0]]})["predictions"][0] == pytest.approx(wanted)
    assert by_key({"x": [[3.0]]})["predictions"][0] == pytest.approx(wanted)
    with pytest.raises(KeyError, match="nothing"):
        tf.contrib.predictor.from_estimator(model, serving, output_key="nothing")


def test_predictor_of_contrib_estimator_gives_its_predictions(tf):
    from tensorflow.contrib import layers, learn, predictor

    model = learn.LinearRegressor([layers.real_valued_column("x")])
    model.fit(input_fn=lambda: ({"x": tf.constant([[1.0]])}, tf.constant([2.0])), steps=1)

    def serving():
        x = tf.placeholder(tf.float32, [None, 1])
        return learn.InputFnOps({"x": x}, None, {"x": x})

    predict = predictor.from_contrib_estimator(model, serving)

    wanted = next(model.predict(input_fn=lambda: {"x": tf.constant([[3.0]])}))
    assert predict({"x": [[3.0]]})["scores"] == pytest.approx([wanted])
    with pytest.raises(TypeError, match="from_contrib_estimator"):
        predictor.from_estimator(model, serving)


def test_tensors_may_be_named_instead_of_a_signature(tf, tmp_path):
    folder = exported(tf, tmp_path, 2)
    signed = tf.contrib.predictor.from_saved_model(folder)
    inputs = {"a": signed.feed_tensors["x"].name}
    outputs = {"b": signed.fetch_tensors["y"].name}

    named = tf.contrib.predictor.from_saved_model(folder, input_names=inputs, output_names=outputs)

    assert named({"a": [3]})["b"].tolist() == [6]
    with pytest.raises(ValueError, match="at most one"):
        tf.contrib.predictor.from_saved_model(
            folder, "serving_default", input_names=inputs, output_names=outputs
        )
    with pytest.raises(ValueError, match=r"Available signatures are \['serving_default'\]"):
        tf.contrib.predictor.from_saved_model(folder, "other")


def keras_model(tf):
    layers = tf.keras.layers
    first = tf.keras.Input([3], name="image")
    hidden = layers.Dropout(0.5)(layers.Dense(4)(first))
    return tf.keras.Model(first, layers.Dense(2, name="score")(hidden))


def test_exported_keras_model_can_be_trained_further(tf, tmp_path):
    import numpy as np

    model = keras_model(tf)
    model.compile("sgd", "mse")
    x = np.ones([4, 3], np.float32)

    folder = tf.contrib.saved_model.save_keras_model(model, str(tmp_path / "1"))

    answer = tf.contrib.predictor.from_saved_model(folder)({"image": x})
    assert answer["score"] == pytest.approx(model.predict(x))  # no dropout in it
    assert len(model.fit(x, np.zeros([4, 2]), verbose=0).history["loss"]) == 1


def test_export_before_1_14_is_named_by_time(tf, tmp_path, monkeypatch):
    monkeypatch.setenv("DANLU_TENSORFLOW", "1.12.0")

    folder = tf.contrib.saved_model.save_keras_model(keras_model(tf), str(tmp_path))

    assert os.path.dirname(folder) == str(tmp_path)
    assert os.path.basename(folder).isdigit()
    assert tf.contrib.saved_model.get_saved_model_tag_sets(folder) == [["serve"]]


def test_folder_without_keras_configuration_is_not_loaded(tf, tmp_path):
    model = keras_model(tf)
    folder = str(tmp_path / "1")
    tf.contrib.saved_model.save_keras_model(model, folder, serving_only=True)

    with pytest.raises(ValueError, match="serving_only=True"):
        tf.contrib.saved_model.load_keras_model(folder)
