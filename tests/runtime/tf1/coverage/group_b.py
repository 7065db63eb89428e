"""A call of every other symbol around estimators, exports and tables that public scripts use."""

import os
import tempfile
from collections.abc import Callable
from typing import Any

import pytest


def _run(tf: Any, value: Any) -> Any:
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        session.run(tf.tables_initializer())
        return session.run(value)


def _file(text: str) -> str:
    path = os.path.join(tempfile.mkdtemp(), "words.txt")
    with open(path, "w") as file:
        file.write(text)
    return path


def index_table_from_tensor(tf: Any) -> None:
    table = tf.contrib.lookup.index_table_from_tensor(mapping=["a", "b"], num_oov_buckets=1)
    assert _run(tf, table.lookup(tf.constant(["b", "a", "z"]))).tolist() == [1, 0, 2]


def index_table_from_file(tf: Any) -> None:
    table = tf.contrib.lookup.index_table_from_file(_file("a\nb\n"), default_value=7)
    assert _run(tf, table.lookup(tf.constant(["b", "z"]))).tolist() == [1, 7]


def index_to_string_table_from_file(tf: Any) -> None:
    table = tf.contrib.lookup.index_to_string_table_from_file(_file("a\nb\n"))
    assert _run(tf, table.lookup(tf.constant([1, 5], tf.int64))).tolist() == [b"b", b"UNK"]


def index_to_string(tf: Any) -> None:
    words = tf.contrib.lookup.index_to_string(tf.constant([1, 9]), ["a", "b"], "?")
    assert _run(tf, words).tolist() == [b"b", b"?"]


def string_to_index_table_from_tensor(tf: Any) -> None:
    table = tf.contrib.lookup.string_to_index_table_from_tensor(["a", "b"])
    assert _run(tf, table.lookup(tf.constant(["b", "z"]))).tolist() == [1, -1]


def _events(tf: Any, folder: str) -> list[Any]:
    (path,) = tf.gfile.Glob(os.path.join(folder, "events*"))
    return [event for event in tf.train.summary_iterator(path) if event.summary.value]


def summaries(tf: Any, add: Callable[[Any], Any], record: Callable[[Any], Any]) -> list[Any]:
    """Write one summary at each of three steps and return the events."""
    folder = tempfile.mkdtemp()
    step = tf.train.create_global_step()
    writer = tf.contrib.summary.create_file_writer(folder, flush_millis=10000)
    with writer.as_default(), record(tf.contrib.summary):
        add(tf.contrib.summary)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(tf.contrib.summary.summary_writer_initializer_op())
        for _ in range(3):
            session.run(tf.contrib.summary.all_summary_ops())
            session.run(tf.assign_add(step, 1))
        session.run(writer.flush())
    return _events(tf, folder)


def summary_scalar(tf: Any) -> None:
    events = summaries(
        tf, lambda s: s.scalar("loss", tf.constant(0.5)), lambda s: s.always_record_summaries()
    )
    assert [(e.step, e.summary.value[0].tag) for e in events] == [(n, "loss") for n in range(3)]


def summary_every_two(tf: Any) -> None:
    events = summaries(
        tf,
        lambda s: s.scalar("loss", tf.constant(0.5)),
        lambda s: s.record_summaries_every_n_global_steps(2),
    )
    assert [event.step for event in events] == [0, 2]


def summary_image(tf: Any) -> None:
    events = summaries(
        tf, lambda s: s.image("i", tf.zeros([1, 4, 5, 3])), lambda s: s.always_record_summaries()
    )
    image = events[0].summary.value[0].image
    assert (image.height, image.width) == (4, 5)


def summary_histogram(tf: Any) -> None:
    events = summaries(
        tf,
        lambda s: s.histogram("h", tf.constant([1.0, 3.0])),
        lambda s: s.always_record_summaries(),
    )
    assert events[0].summary.value[0].histo.sum == 4


def _rows(tf: Any) -> Callable[[], Any]:
    return lambda: (
        {"x": tf.constant([[1.0], [2.0], [3.0]]), "id": tf.constant([[7], [8], [9]])},
        tf.constant([[1.0], [0.0], [1.0]]),
    )


def _estimator(tf: Any, head: Any) -> Any:
    column = tf.feature_column.numeric_column("x")
    return tf.contrib.estimator.DNNEstimator(head=head, hidden_units=[3], feature_columns=[column])


def head(tf: Any, make: Callable[..., Any], key: str) -> None:
    model = _estimator(tf, make())
    model.train(_rows(tf), steps=2)
    result = model.evaluate(_rows(tf), steps=1)
    # The heads of contrib average over the batch; those of tf.estimator sum.
    assert result["loss"] == pytest.approx(result["average_loss"])
    assert key in result


def add_metrics(tf: Any) -> None:
    def share(labels: Any) -> dict[str, Any]:
        return {"share": tf.metrics.mean(labels)}

    model = _estimator(tf, tf.contrib.estimator.regression_head())
    model = tf.contrib.estimator.add_metrics(model, share)
    model.train(_rows(tf), steps=1)
    assert model.evaluate(_rows(tf), steps=1)["share"] == pytest.approx(2 / 3)


def forward_features(tf: Any) -> None:
    model = _estimator(tf, tf.contrib.estimator.regression_head())
    model.train(_rows(tf), steps=1)
    model = tf.contrib.estimator.forward_features(model, "id")
    first = next(model.predict(lambda: _rows(tf)()[0]))
    assert first["id"].tolist() == [7]


def stop_if_no_increase_hook(tf: Any) -> None:
    model = _estimator(tf, tf.contrib.estimator.regression_head())
    hook = tf.contrib.estimator.stop_if_no_increase_hook(model, "accuracy", 10)
    model.train(_rows(tf), steps=3, hooks=[hook])
    assert model.get_variable_value("global_step") == 3


def _saved(tf: Any) -> str:
    folder = os.path.join(tempfile.mkdtemp(), "1")
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None])
        tf.saved_model.simple_save(session, folder, {"x": x}, {"y": x * 2})
    return folder


def from_saved_model(tf: Any) -> None:
    predict = tf.contrib.predictor.from_saved_model(_saved(tf))
    assert predict({"x": [1, 2]})["y"].tolist() == [2, 4]
    with pytest.raises(ValueError, match="unexpected keys"):
        predict({"z": [1]})


def save_keras_model(tf: Any) -> None:
    import numpy as np

    rows = np.array([[1.0, 2.0, 3.0]], np.float32)
    model = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,))])
    folder = os.path.join(tempfile.mkdtemp(), "1")
    assert tf.contrib.saved_model.save_keras_model(model, folder) == folder
    predict = tf.contrib.predictor.from_saved_model(folder)
    (answer,) = predict({next(iter(predict.feed_tensors)): rows}).values()
    assert answer == pytest.approx(model.predict(rows))
    again = tf.contrib.saved_model.load_keras_model(folder)
    assert again.predict(rows) == pytest.approx(answer)


def exporter(tf: Any) -> None:
    from tensorflow.contrib.session_bundle import exporter as exports

    folder = tempfile.mkdtemp()
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None])
        y = x * tf.Variable(3.0)
        session.run(tf.global_variables_initializer())
        model = exports.Exporter(tf.train.Saver(sharded=True))
        named = {
            "inputs": exports.generic_signature({"x": x}),
            "outputs": exports.generic_signature({"y": y}),
        }
        model.init(session.graph.as_graph_def(), named_graph_signatures=named)
        model.export(folder, tf.constant(12), session)
    predict = tf.contrib.predictor.from_saved_model(os.path.join(folder, "00000012"))
    assert predict({"x": [2]})["y"].tolist() == [6]


def manifest(tf: Any) -> None:
    from tensorflow.contrib.session_bundle import manifest_pb2

    signature = manifest_pb2.Signature()
    signature.generic_signature.map["x"].tensor_name = "x:0"
    copy = manifest_pb2.Signature.FromString(signature.SerializeToString())
    assert copy.WhichOneof("type") == "generic_signature"
    assert copy.generic_signature.map["x"].tensor_name == "x:0"


def deprecated(tf: Any) -> None:
    assert tf.contrib.deprecated.merge_all_summaries() is None
    tf.contrib.deprecated.scalar_summary("loss", tf.constant(0.5))
    merged = _run(tf, tf.contrib.deprecated.merge_all_summaries())
    (value,) = tf.Summary.FromString(merged).value
    assert (value.tag, value.simple_value) == ("loss", 0.5)


def map_and_batch(tf: Any) -> None:
    rows = tf.data.Dataset.range(4).apply(tf.contrib.data.map_and_batch(lambda n: n * n, 4))
    assert _run(tf, rows.make_one_shot_iterator().get_next()).tolist() == [0, 1, 4, 9]


def autotune(tf: Any) -> None:
    rows = tf.data.Dataset.range(2).prefetch(tf.contrib.data.AUTOTUNE)
    assert _run(tf, rows.make_one_shot_iterator().get_next()) == 0


def fixed_length(tf: Any) -> None:
    rows = tf.contrib.data.FixedLengthRecordDataset(_file("abcd"), 2)
    assert _run(tf, rows.make_one_shot_iterator().get_next()) == b"ab"


def sdca(tf: Any) -> None:
    def rows() -> Any:
        features = {"x": tf.constant([[0.0], [1.0]]), "id": tf.constant(["a", "b"])}
        return features, tf.constant([[0], [1]])

    optimizer = tf.contrib.linear_optimizer.SDCAOptimizer("id", symmetric_l2_regularization=1.0)
    column = tf.contrib.layers.real_valued_column("x")
    model = tf.contrib.learn.LinearClassifier([column], optimizer=optimizer)
    model.fit(input_fn=rows, steps=20)
    assert model.evaluate(input_fn=rows, steps=1)["accuracy"] == 1


CALLS: dict[str, Callable[[Any], None]] = {
    "tf.contrib.lookup.index_table_from_tensor": index_table_from_tensor,
    "tf.contrib.lookup.index_table_from_file": index_table_from_file,
    "tf.contrib.lookup.index_to_string_table_from_file": index_to_string_table_from_file,
    "tf.contrib.lookup.index_to_string": index_to_string,
    "tf.contrib.lookup.string_to_index_table_from_tensor": string_to_index_table_from_tensor,
    "tf.contrib.summary": summary_scalar,
    "tf.contrib.summary.scalar": summary_scalar,
    "tf.contrib.summary.create_file_writer": summary_scalar,
    "tf.contrib.summary.all_summary_ops": summary_scalar,
    "tf.contrib.summary.always_record_summaries": summary_scalar,
    "tf.contrib.summary.record_summaries_every_n_global_steps": summary_every_two,
    "tf.contrib.summary.image": summary_image,
    "tf.contrib.summary.histogram": summary_histogram,
    "tf.contrib.estimator.binary_classification_head": lambda tf: head(
        tf, tf.contrib.estimator.binary_classification_head, "auc"
    ),
    "tf.contrib.estimator.regression_head": lambda tf: head(
        tf, tf.contrib.estimator.regression_head, "label/mean"
    ),
    "tf.contrib.estimator.add_metrics": add_metrics,
    "tf.contrib.estimator.forward_features": forward_features,
    "tf.contrib.estimator.stop_if_no_increase_hook": stop_if_no_increase_hook,
    "tf.contrib.predictor.from_saved_model": from_saved_model,
    "tf.contrib.saved_model.save_keras_model": save_keras_model,
    "tf.contrib.session_bundle.exporter": exporter,
    "tf.contrib.session_bundle.exporter.Exporter": exporter,
    "tf.contrib.session_bundle.exporter.generic_signature": exporter,
    "tf.contrib.session_bundle.manifest_pb2": manifest,
    "tf.contrib.session_bundle.manifest_pb2.Signature": manifest,
    "tf.contrib.deprecated.merge_all_summaries": deprecated,
    "tf.contrib.deprecated.scalar_summary": deprecated,
    "tf.contrib.data.map_and_batch": map_and_batch,
    "tf.contrib.data.AUTOTUNE": autotune,
    "tf.contrib.data.FixedLengthRecordDataset": fixed_length,
    "tf.contrib.linear_optimizer.SDCAOptimizer": sdca,
}
