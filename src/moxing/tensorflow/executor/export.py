"""Export of the model for TF-Serving, to ``log_dir/<version>/saved_model.pb``.

The graph is built before the run begins. A fault in it is raised at once, and not after hours.
"""

import os
from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.datasets.labels import write_labels
from moxing.tensorflow.executor.model import Sharing, call
from moxing.tensorflow.executor.precision import kept
from moxing.tensorflow.executor.request import ModeKeys, Request
from moxing.tensorflow.executor.restoring import Restorer, Source
from moxing.tensorflow.executor.run_graph import RunGraph
from moxing.tensorflow.executor.spec import ExportSpec, InputSpec, checked

SIGNATURE = "predict_object"  # the name that clients of MoXing's models use
_FILE = "saved_model.pb"
_BESIDE = "assets.extra"  # TF-Serving ignores files in it
_LEFT_BEHIND = ("variables", "assets")  # by a program killed while it wrote them


class Export:
    """The graph of the model to serve, without values.

    ``of_run`` is the graph of the run. It has the labels of the data, and the variables that will
    be saved.
    """

    def __init__(self, request: Request, inputs: Any, of_run: Any) -> None:
        assert request.log_dir is not None
        self._log_dir = request.log_dir
        self._of_run = of_run
        self._graph = RunGraph()
        with self._graph.as_default():
            fed = _placeholders(inputs, free_batch=request.auto_batch)
            self._graph.begin_clone(0)
            with Sharing().variables(), kept():
                returned = call(request.model_fn, fed, ModeKeys.EXPORT)
            self._graph.end_clone()
            spec = checked(returned, ModeKeys.EXPORT).export_spec
            assert spec is not None
            self._spec: ExportSpec = spec
            self._signature = _signature(spec, self._graph)
            _compare(tf.global_variables(), of_run)
        self._path()  # raises before the run if the version already exists

    def write(self, prefix: str) -> str:
        """Write the model with the values of a checkpoint and return its path."""
        path = self._path()
        for name in _LEFT_BEHIND:
            if tf.gfile.Exists(os.path.join(path, name)):
                tf.gfile.DeleteRecursively(os.path.join(path, name))
        with self._graph.as_default(), tf.Session(graph=self._graph) as session:
            variables = tf.global_variables()
            Restorer(Source((prefix,), resumes=True), variables, needed=True)(session)
            _save(path, session, self._signature)
        write_labels(os.path.join(path, _BESIDE), self._of_run)
        return path

    def _path(self) -> str:
        version = self._spec.version
        if version == -1:
            return os.path.join(self._log_dir, str(_next_version(self._log_dir)))
        path = os.path.join(self._log_dir, str(version))
        if tf.gfile.IsDirectory(path):
            names = {name.rstrip("/") for name in tf.gfile.ListDirectory(path)}
            if names - set(_LEFT_BEHIND):
                raise AssertionError(
                    "Export directory already exists. Please specify a different export "
                    f"directory: {path}"
                )
        return path


def _compare(served: Sequence[Any], of_run: Any) -> None:
    """Raise ValueError, before the run, for variables that would have no value after it."""
    trained = {each.op.name: each for each in of_run.get_collection("variables")}
    faults = [
        f"{each.op.name} ({each.dtype.base_dtype.name}, {each.shape})"
        for each in served
        if (own := trained.get(each.op.name)) is None
        or own.dtype.base_dtype != each.dtype.base_dtype
        or not own.shape.is_compatible_with(each.shape)
    ]
    if faults:
        raise ValueError(
            f"model_fn makes {', '.join(faults)} in mode EXPORT, and not the same otherwise: it "
            "would have no value."
        )


def _save(path: str, session: Any, signature: Any) -> None:
    if tf.gfile.IsDirectory(path) and not tf.gfile.ListDirectory(path):
        tf.gfile.DeleteRecursively(path)  # empty: TensorFlow creates it itself
    builder = tf.saved_model.Builder(path)
    builder.add_meta_graph_and_variables(
        session,
        [tf.saved_model.tag_constants.SERVING],
        signature_def_map={
            SIGNATURE: signature,
            tf.saved_model.signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY: signature,
        },
        assets_collection=tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS),
        main_op=tf.tables_initializer(),
        strip_default_attrs=True,
        clear_devices=True,
    )
    builder.save()


def _signature(spec: ExportSpec, graph: Any) -> Any:
    foreign = [
        f"{field}[{name!r}]"
        for field, tensors in (
            ("inputs_dict", spec.inputs_dict),
            ("outputs_dict", spec.outputs_dict),
        )
        for name, tensor in tensors.items()
        if getattr(tensor, "graph", None) is not graph
    ]
    if foreign:
        raise ValueError(
            f"mox.ExportSpec: {', '.join(foreign)} must be made inside model_fn, or be one of "
            "its inputs."
        )
    return tf.saved_model.predict_signature_def(spec.inputs_dict, spec.outputs_dict)


def _placeholders(inputs: Any, free_batch: bool) -> Any:
    """Return placeholders for the inputs of a model_fn, with the shapes of the run.

    With ``free_batch``, the size of a batch is unknown.
    """

    def placeholder(tensor: Any) -> Any:
        if not tf.is_tensor(tensor):
            return tensor
        if isinstance(tensor, tf.SparseTensor):
            return _sparse_placeholder(tensor, free_batch)
        shape = tensor.shape
        if free_batch and shape.rank:
            shape = tf.TensorShape([None]).concatenate(shape[1:])
        return tf.placeholder(tensor.dtype, shape)

    if isinstance(inputs, InputSpec):
        return inputs.with_inputs(
            [tf.nest.map_structure(placeholder, each) for each in inputs.inputs]
        )
    return tf.nest.map_structure(placeholder, inputs)


def _sparse_placeholder(tensor: Any, free_batch: bool) -> Any:
    """Return a sparse placeholder that keeps its known sizes when it is made dense."""
    if not tensor.shape.rank:
        return tf.sparse_placeholder(tensor.dtype)
    sizes = [
        tf.placeholder(tf.int64, [])
        if size is None or (free_batch and position == 0)
        else tf.constant(size, tf.int64)
        for position, size in enumerate(tensor.shape.as_list())
    ]
    indices = tf.placeholder(tf.int64, [None, len(sizes)])
    values = tf.placeholder(tensor.dtype, [None])
    return tf.SparseTensor(indices, values, tf.stack(sizes))


def _next_version(log_dir: str) -> int:
    if not tf.gfile.IsDirectory(log_dir):
        return 1
    names = [name.rstrip("/") for name in tf.gfile.ListDirectory(log_dir)]
    return max((int(name) for name in names if name.isdecimal()), default=0) + 1
