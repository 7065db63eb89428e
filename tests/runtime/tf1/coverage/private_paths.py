"""A use of every path into TensorFlow's inside that public scripts import."""

import importlib
import os
import tempfile
from collections.abc import Callable
from typing import Any

KERAS = "tensorflow.python.keras"


def _read(path: str) -> Any:
    """Return what ``import`` or ``from … import`` of a path gives."""
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError:
        module, _, name = path.rpartition(".")
        return getattr(importlib.import_module(module), name)


def _imported_by_a_script(path: str) -> Any:
    """Return what a user's file gets, whose imports of Keras are read as public ones."""
    from danlu_runtime.repair.rewrite import repair_source

    module, _, name = path.rpartition(".")
    source = f"from {module} import {name} as found".encode()
    namespace: dict[str, Any] = {}
    tree = repair_source(source, "train.py", ords=True, keras=True).tree
    exec(compile(tree, "train.py", "exec"), namespace)
    return namespace["found"]


def _run(tf: Any, value: Any) -> Any:
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        return session.run(value)


def _file(text: bytes) -> str:
    path = os.path.join(tempfile.mkdtemp(), "file")
    with open(path, "wb") as file:
        file.write(text)
    return path


def file_io(tf: Any, found: Any) -> None:
    assert found.FileIO(_file(b"abc"), "r").read() == "abc"
    assert found.file_exists(_file(b""))


def gfile(tf: Any, found: Any) -> None:
    assert found.GFile(_file(b"abc"), "rb").read() == b"abc"


def feature_column(tf: Any, found: Any) -> None:
    column = found._numeric_column("x") if hasattr(found, "_numeric_column") else None
    column = column or found.numeric_column("x")
    layer = tf.feature_column.input_layer({"x": tf.constant([[2.0]])}, [column])
    assert _run(tf, layer).tolist() == [[2.0]]


def freeze(tf: Any, convert: Callable[..., Any]) -> None:
    doubled = tf.multiply(tf.Variable(3.0, name="v"), 2, name="doubled")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        frozen = convert(session, session.graph_def, ["doubled"])
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(frozen, name="")
        with tf.Session() as session:
            assert session.run(graph.get_tensor_by_name("doubled:0")) == 6
    assert doubled.op.name == "doubled"


def freeze_graph(tf: Any, found: Any) -> None:
    folder = tempfile.mkdtemp()
    tf.multiply(tf.Variable(3.0, name="v"), 2, name="doubled")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(session, f"{folder}/model.ckpt")
        tf.train.write_graph(session.graph_def, folder, "graph.pbtxt")
    found.freeze_graph(
        f"{folder}/graph.pbtxt", "", False, path, "doubled", "save/restore_all", "save/Const:0",
        f"{folder}/frozen.pb", True, "",
    )  # fmt: skip
    graph = tf.GraphDef()
    with open(f"{folder}/frozen.pb", "rb") as file:
        graph.ParseFromString(file.read())
    assert "Const" in {node.op for node in graph.node}
    assert "VariableV2" not in {node.op for node in graph.node}


def layer(*args: Any, **named: Any) -> Callable[[Any, Any], None]:
    shape = named.pop("shape")
    wanted = named.pop("gives")

    def call(tf: Any, found: Any) -> None:
        inputs = tf.ones(shape)
        assert found(*args, **named)(inputs).shape.as_list() == wanted

    return call


def concatenate(tf: Any, found: Any) -> None:
    assert found()([tf.ones([1, 2]), tf.ones([1, 3])]).shape.as_list() == [1, 5]


def pad_sequences(tf: Any, found: Any) -> None:
    assert found([[1], [1, 2, 3]], maxlen=2).tolist() == [[0, 1], [2, 3]]


def remove_long_seq(tf: Any, found: Any) -> None:
    assert found(3, [[1], [1, 2, 3]], [0, 1]) == ([[1]], [0])


def models(tf: Any, found: Any) -> None:
    model = found.Sequential([tf.keras.layers.Dense(2, input_shape=(3,))])
    assert model.output_shape == (None, 2)


def backend(tf: Any, found: Any) -> None:
    assert found.get_session().run(found.variable(2.0).initializer) is None


def tokenizer(tf: Any, found: Any) -> None:
    words = found()
    words.fit_on_texts(["a a b"])
    assert words.texts_to_sequences(["b a"]) == [[2, 1]]


def keras(tf: Any, found: Any) -> None:
    assert found.layers.Dense is tf.keras.layers.Dense


def callbacks(tf: Any, found: Any) -> None:
    assert found.EarlyStopping(patience=3).patience == 3


def np_utils(tf: Any, found: Any) -> None:
    assert found.to_categorical([1], 2).tolist() == [[0, 1]]


def builder(tf: Any, found: Any) -> None:
    folder = os.path.join(tempfile.mkdtemp(), "1")
    tf.Variable(1.0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        made = found.SavedModelBuilder(folder)
        made.add_meta_graph_and_variables(session, ["serve"])
        made.save()
    assert tf.saved_model.loader.maybe_saved_model_directory(folder)


def estimator(tf: Any, found: Any) -> None:
    assert found.Estimator is tf.estimator.Estimator


def same(expected: Callable[[Any], Any]) -> Callable[[Any, Any], None]:
    def call(tf: Any, found: Any) -> None:
        assert found == expected(tf)

    return call


def flags(tf: Any, found: Any) -> None:
    found.DEFINE_integer("of_private_paths", 3, "")
    assert found.FLAGS["of_private_paths"].value == 3


def predict_signature(tf: Any, found: Any) -> None:
    x = tf.constant(1.0)
    assert found({"x": x}, {"y": x}).inputs["x"].name == x.name


def receiver(tf: Any, found: Any) -> None:
    made = found({"x": tf.placeholder(tf.float32, [None])})()
    assert sorted(made.features) == ["x"]


def predict_output(tf: Any, found: Any) -> None:
    assert isinstance(found({"y": tf.constant(1.0)}), tf.estimator.export.PredictOutput)


def queue(tf: Any, found: Any) -> None:
    values = found.FIFOQueue(3, [tf.int32], shapes=[[]])
    with tf.Session() as session:
        session.run(values.enqueue_many([[1, 2]]))
        assert session.run(values.dequeue()) == 1


def string_ops(tf: Any, found: Any) -> None:
    assert _run(tf, found.string_join(["a", "b"])) == b"ab"


def tf_logging(tf: Any, found: Any) -> None:
    found.set_verbosity(found.WARN)
    assert found.get_verbosity() == tf.logging.WARN


def device_lib(tf: Any, found: Any) -> None:
    assert {"CPU"} <= {device.device_type for device in found.list_local_devices()}


def errors(tf: Any, found: Any) -> None:
    assert issubclass(found.OutOfRangeError, tf.errors.OpError)


def tensor_info(tf: Any, found: Any) -> None:
    x = tf.constant(1.0)
    assert found.build_tensor_info(x).name == x.name


def rmsprop(tf: Any, found: Any) -> None:
    w = tf.Variable(1.0)
    train = found(0.1).minimize(tf.square(w))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        assert session.run(w) < 1


def timeline(tf: Any, found: Any) -> None:
    reported = tf.RunMetadata()
    with tf.Session() as session:
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        session.run(tf.random_uniform([2]), options=options, run_metadata=reported)
    assert '"traceEvents"' in found.Timeline(reported.step_stats).generate_chrome_trace_format()


def framework_ops(tf: Any, found: Any) -> None:
    assert found.get_default_graph() is tf.get_default_graph()
    assert isinstance(tf.constant(1), found.Tensor)


def array_ops(tf: Any, found: Any) -> None:
    assert _run(tf, found.concat([[1], [2]], 0)).tolist() == [1, 2]


def control_flow(tf: Any, found: Any) -> None:
    chosen = found.cond(tf.constant(True), lambda: tf.constant(1), lambda: tf.constant(2))
    counted = found.while_loop(lambda i: i < 3, lambda i: i + 1, [tf.constant(0)])
    assert _run(tf, [chosen, counted]) == [1, 3]


def lookup_ops(tf: Any, found: Any) -> None:
    table = found.index_table_from_tensor(tf.constant(["a", "b"]))
    assert _run(tf, table.lookup(tf.constant("b"))) == 1


def variable_scope(tf: Any, found: Any) -> None:
    with found.variable_scope("a"):
        assert found.get_variable("b", []).name == "a/b:0"


def variables(tf: Any, found: Any) -> None:
    w = found.Variable(2.0)
    assert _run(tf, w) == 2
    assert found.trainable_variables() == [w]


def compat(tf: Any, found: Any) -> None:
    assert found.as_bytes("a") == b"a"


def nest(tf: Any, found: Any) -> None:
    assert found.flatten({"a": (1, 2)}) == [1, 2]


def forward_compatible(tf: Any, found: Any) -> None:
    assert found.forward_compatible(2019, 1, 1)


def graph_util(tf: Any, found: Any) -> None:
    freeze(tf, found.convert_variables_to_constants)


def input_data(tf: Any, found: Any) -> None:
    import numpy as np

    images, labels = np.zeros([2, 4, 4, 1], np.uint8), np.array([1, 2])
    made = found.DataSet(images, labels, one_hot=False, dtype=tf.float32)
    assert made.next_batch(2, shuffle=False)[0].shape == (2, 16)


def mnist(tf: Any, found: Any) -> None:
    logits = found.inference(tf.zeros([2, 784]), 4, 3)
    assert logits.shape.as_list() == [2, 10]


def rewriter(tf: Any, found: Any) -> None:
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.remapping = found.RewriterConfig.OFF
    with tf.Session(config=config) as session:
        assert session.run(tf.constant(1)) == 1


def meta_graph(tf: Any, found: Any) -> None:
    assert (
        found.MetaGraphDef()
        .FromString(tf.train.export_meta_graph().SerializeToString())
        .HasField("graph_def")
    )


def constants(tf: Any, found: Any) -> None:
    assert found.DEFAULT_SERVING_SIGNATURE_DEF_KEY == "serving_default"


def tags(tf: Any, found: Any) -> None:
    assert found.SERVING == "serve"


def definitions(tf: Any, found: Any) -> None:
    predict_signature(tf, found.predict_signature_def)


_USES: dict[str, Callable[[Any, Any], None]] = {
    "tensorflow.examples.tutorials.mnist.input_data": input_data,
    "tensorflow.examples.tutorials.mnist.mnist": mnist,
    "tensorflow.core.protobuf.rewriter_config_pb2": rewriter,
    "tensorflow.core.protobuf.meta_graph_pb2": meta_graph,
    "tensorflow.python.lib.io.file_io": file_io,
    "tensorflow.python.feature_column.feature_column": feature_column,
    "tensorflow.python.feature_column.feature_column_v2": feature_column,
    "tensorflow.python.framework.graph_util": graph_util,
    "tensorflow.python.framework.graph_util.convert_variables_to_constants": freeze,
    "tensorflow.python.tools.freeze_graph": freeze_graph,
    "tensorflow.python.estimator.model_fn.ModeKeys": same(lambda tf: tf.estimator.ModeKeys),
    "tensorflow.python.estimator.estimator": estimator,
    "tensorflow.python.estimator.export.export.build_raw_serving_input_receiver_fn": receiver,
    "tensorflow.python.estimator.export.export_output.PredictOutput": predict_output,
    "tensorflow.python.keras.layers.Dense": layer(2, shape=[1, 3], gives=[1, 2]),
    "tensorflow.python.keras.backend": backend,
    "tensorflow.python.keras.layers.Activation": layer("relu", shape=[1, 3], gives=[1, 3]),
    "tensorflow.python.keras.layers.Conv2D": layer(2, 3, shape=[1, 5, 5, 1], gives=[1, 3, 3, 2]),
    "tensorflow.python.keras.layers.Dropout": layer(0.5, shape=[1, 3], gives=[1, 3]),
    "tensorflow.python.keras.layers.Flatten": layer(shape=[1, 2, 3], gives=[1, 6]),
    "tensorflow.python.keras.layers.MaxPooling2D": layer(shape=[1, 4, 4, 1], gives=[1, 2, 2, 1]),
    "tensorflow.python.keras.layers.Concatenate": concatenate,
    "tensorflow.python.keras.layers.LSTM": layer(4, shape=[1, 2, 3], gives=[1, 4]),
    "tensorflow.python.keras.layers.convolutional.Conv3D": layer(
        2, 2, shape=[1, 3, 3, 3, 1], gives=[1, 2, 2, 2, 2]
    ),
    "tensorflow.python.keras.layers.convolutional.MaxPooling3D": layer(
        shape=[1, 2, 2, 2, 1], gives=[1, 1, 1, 1, 1]
    ),
    "tensorflow.python.keras.models": models,
    "tensorflow.python.keras.models.Sequential": lambda tf, found: models(tf, tf.keras.models),
    "tensorflow.python.keras": keras,
    "tensorflow.python.keras.callbacks": callbacks,
    "tensorflow.python.keras.preprocessing.sequence.pad_sequences": pad_sequences,
    "tensorflow.python.keras.preprocessing.sequence._remove_long_seq": remove_long_seq,
    "tensorflow.python.keras.preprocessing.text.Tokenizer": tokenizer,
    "tensorflow.python.keras.utils.np_utils": np_utils,
    "tensorflow.python.saved_model.signature_constants": constants,
    "tensorflow.python.saved_model.signature_constants.PREDICT_INPUTS": same(lambda tf: "inputs"),
    "tensorflow.python.saved_model.tag_constants": tags,
    "tensorflow.python.saved_model.builder": builder,
    "tensorflow.python.saved_model.signature_def_utils": definitions,
    "tensorflow.python.saved_model.signature_def_utils_impl.predict_signature_def": (
        predict_signature
    ),
    "tensorflow.python.saved_model.utils": tensor_info,
    "tensorflow.python.platform.flags": flags,
    "tensorflow.python.platform.tf_logging": tf_logging,
    "tensorflow.python.platform.gfile": gfile,
    "tensorflow.python.compat.compat": forward_compatible,
    "tensorflow.python.ops.data_flow_ops": queue,
    "tensorflow.python.ops.string_ops": string_ops,
    "tensorflow.python.client.device_lib": device_lib,
    "tensorflow.python.client.timeline": timeline,
    "tensorflow.python.framework.errors": errors,
    "tensorflow.python.framework.dtypes": lambda tf, found: same(lambda tf: tf.float32)(
        tf, found.float32
    ),
    "tensorflow.python.framework.ops": framework_ops,
    "tensorflow.python.training.rmsprop.RMSPropOptimizer": rmsprop,
    "tensorflow.python.layers.layers.Conv2D": layer(2, 3, shape=[1, 5, 5, 1], gives=[1, 3, 3, 2]),
    "tensorflow.python.layers.layers.Dense": layer(2, shape=[1, 3], gives=[1, 2]),
    "tensorflow.python.layers.layers.MaxPooling2D": layer(
        2, 2, shape=[1, 4, 4, 1], gives=[1, 2, 2, 1]
    ),
    "tensorflow.python.ops.array_ops": array_ops,
    "tensorflow.python.ops.control_flow_ops": control_flow,
    "tensorflow.python.ops.lookup_ops": lookup_ops,
    "tensorflow.python.ops.variable_scope": variable_scope,
    "tensorflow.python.ops.variables": variables,
    "tensorflow.python.util.compat": compat,
    "tensorflow.python.util.nest": nest,
}


def _call(path: str, use: Callable[[Any, Any], None]) -> Callable[[Any], None]:
    find = _imported_by_a_script if path.startswith(KERAS) else _read
    return lambda tf: use(tf, find(path))


CALLS: dict[str, Callable[[Any], None]] = {path: _call(path, use) for path, use in _USES.items()}
