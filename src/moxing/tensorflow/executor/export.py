"""Writes the model for TF-Serving: ``log_dir/<version>/saved_model.pb``.

The graph is built before the run begins: a fault in it is told at once, and not after hours.
"""

import os
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.datasets.labels import write_labels
from moxing.tensorflow.executor.callbacks import call
from moxing.tensorflow.executor.modes import ModeKeys
from moxing.tensorflow.executor.request import Request
from moxing.tensorflow.executor.restoring import Restorer, Source
from moxing.tensorflow.executor.run_graph import RunGraph
from moxing.tensorflow.executor.sharing import Sharing
from moxing.tensorflow.executor.spec import ExportSpec, InputSpec, checked

SIGNATURE = "predict_object"  # what clients of MoXing's models ask for
_FILE = "saved_model.pb"
_BESIDE = "assets.extra"  # where TF-Serving leaves files alone


class Export:
    """The model as it will be served, without values yet."""

    def __init__(self, request: Request, inputs: Any, of_run: Any) -> None:
        assert request.log_dir is not None
        self._log_dir = request.log_dir
        self._of_run = of_run  # the graph of the run, which knows the labels of its data
        self._graph = RunGraph()
        with self._graph.as_default():
            tf.train.get_or_create_global_step()
            fed = _placeholders(inputs, free_batch=request.auto_batch)
            self._graph.begin_clone(0)
            with Sharing().variables():
                returned = call(request.model_fn, fed, ModeKeys.EXPORT)
            self._graph.end_clone()
            spec = checked(returned, ModeKeys.EXPORT).export_spec
            assert spec is not None
            self._spec: ExportSpec = spec
            self._signature = _signature(spec, self._graph)
        self._path()  # a version that is there already is refused before the run

    def write(self, prefix: str) -> str:
        """Write it with the values of a checkpoint; return where."""
        path = self._path()
        if tf.gfile.Exists(path):
            tf.gfile.DeleteRecursively(path)  # left unfinished: it has no model
        with self._graph.as_default(), tf.Session(graph=self._graph) as session:
            variables = tf.global_variables()
            step = tf.train.get_global_step()
            restored = [each for each in variables if each is not step]
            Restorer(Source((prefix,), resumes=True), restored, needed=True)(session)
            session.run(step.initializer)
            _save(path, session, self._signature)
        write_labels(os.path.join(path, _BESIDE), self._of_run)
        return path

    def _path(self) -> str:
        version = self._spec.version
        if version == -1:
            return os.path.join(self._log_dir, str(_next_version(self._log_dir)))
        path = os.path.join(self._log_dir, str(version))
        if tf.gfile.Exists(os.path.join(path, _FILE)):
            raise AssertionError(
                "Export directory already exists. Please specify a different export directory: "
                f"{path}"
            )
        return path


def _save(path: str, session: Any, signature: Any) -> None:
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
    """Return what a model_fn is fed with: the shapes of the run, any batch where we make it."""

    def placeholder(tensor: Any) -> Any:
        if not tf.is_tensor(tensor):
            return tensor
        if isinstance(tensor, tf.SparseTensor):
            return tf.sparse_placeholder(tensor.dtype)
        shape = tensor.shape
        if free_batch and shape.rank:
            shape = tf.TensorShape([None]).concatenate(shape[1:])
        return tf.placeholder(tensor.dtype, shape)

    if isinstance(inputs, InputSpec):
        return inputs.with_inputs(
            [tf.nest.map_structure(placeholder, each) for each in inputs.inputs]
        )
    return tf.nest.map_structure(placeholder, inputs)


def _next_version(log_dir: str) -> int:
    if not tf.gfile.IsDirectory(log_dir):
        return 1
    names = [name.rstrip("/") for name in tf.gfile.ListDirectory(log_dir)]
    return max((int(name) for name in names if name.isdecimal()), default=0) + 1
