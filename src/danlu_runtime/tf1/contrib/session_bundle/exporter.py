"""`tensorflow.contrib.session_bundle.exporter`: the export of before SavedModel.

It is called as it was and writes a SavedModel into `<folder>/<step as 8 digits>`, because that is
what model servers read today. The default signature is served as `serving_default`; generic
signatures named `inputs` and `outputs` become a predict signature, served by default where there
is no other default.
"""

import os
from collections.abc import Callable, Mapping
from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime.tf1.contrib.learn.utils import gc
from danlu_runtime.tf1.contrib.session_bundle import constants, manifest_pb2

__all__ = [
    "Exporter",
    "classification_signature",
    "generic_signature",
    "gfile_copy_callback",
    "regression_signature",
]

VERSION_FORMAT_SPECIFIER = constants.VERSION_FORMAT_SPECIFIER
ASSETS_DIRECTORY = constants.ASSETS_DIRECTORY
PREDICT_KEY = "predict"

_DEFAULT = tf.saved_model.signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY


def generic_signature(name_tensor_map: Mapping[str, Any]) -> Any:
    """Return a signature of tensors by name."""
    signature = manifest_pb2.Signature()
    for name, tensor in name_tensor_map.items():
        signature.generic_signature.map[name].tensor_name = tensor.name
    return signature


def classification_signature(
    input_tensor: Any, classes_tensor: Any = None, scores_tensor: Any = None
) -> Any:
    """Return a signature of an input, its classes and their scores."""
    signature = manifest_pb2.Signature()
    signature.classification_signature.input.tensor_name = input_tensor.name
    if classes_tensor is not None:
        signature.classification_signature.classes.tensor_name = classes_tensor.name
    if scores_tensor is not None:
        signature.classification_signature.scores.tensor_name = scores_tensor.name
    return signature


def regression_signature(input_tensor: Any, output_tensor: Any) -> Any:
    """Return a signature of an input and a number."""
    signature = manifest_pb2.Signature()
    signature.regression_signature.input.tensor_name = input_tensor.name
    signature.regression_signature.output.tensor_name = output_tensor.name
    return signature


def gfile_copy_callback(files_to_copy: Mapping[str, str], export_dir_path: str) -> None:
    """Copy assets beside the export: what is called where no other callback is given."""
    folder = os.path.join(export_dir_path, ASSETS_DIRECTORY)
    tf.gfile.MakeDirs(folder)
    for source, name in files_to_copy.items():
        target = os.path.join(folder, name)
        # The SavedModel has put an asset of the graph there already.
        if not tf.gfile.Exists(target):
            tf.gfile.Copy(source, target)


class Exporter:
    """Writes a session's model; `init` says what, `export` where."""

    def __init__(self, saver: Any) -> None:
        """Take the saver of the script; it must have been made with `sharded=True` in TF 1."""
        self._saver = saver
        self._initialised = False

    def init(
        self,
        graph_def: Any = None,
        init_op: Any = None,
        clear_devices: bool = False,
        default_graph_signature: Any = None,
        named_graph_signatures: Mapping[str, Any] | None = None,
        assets_collection: Any = None,
        assets_callback: Callable[..., Any] | None = gfile_copy_callback,
    ) -> None:
        """Set the signatures; names of `named_graph_signatures` must be text."""
        for name in named_graph_signatures or {}:
            if not isinstance(name, str):
                raise TypeError(f"A signature is named by text, got {name!r}.")
        self._init_op = init_op
        self._clear_devices = clear_devices
        self._default = default_graph_signature
        self._named = dict(named_graph_signatures or {})
        self._assets = list(assets_collection or [])
        self._assets_callback = assets_callback
        self._initialised = True

    def export(
        self,
        export_dir_base: str,
        global_step_tensor: Any,
        sess: Any = None,
        exports_to_keep: Callable[[Any], Any] | None = None,
    ) -> str:
        """Write the model and return its folder.

        Raises:
            ValueError: there is no session, or `init` was not called.
            RuntimeError: the step was exported before.
        """
        if not self._initialised:
            raise ValueError("Call init() of the Exporter before export().")
        session = sess or tf.get_default_session()
        if session is None:
            raise ValueError("No session was given and there is no default session.")
        step = _step(global_step_tensor, session)
        final = os.path.join(export_dir_base, VERSION_FORMAT_SPECIFIER % step)
        if tf.gfile.Exists(final):
            raise RuntimeError(f"Overwriting exports can cause corruption: {final} exists already.")
        temporary = f"{final}-tmp"
        if tf.gfile.Exists(temporary):
            tf.gfile.DeleteRecursively(temporary)  # left by a run that was ended
        self._write(temporary, session)
        tf.gfile.Rename(temporary, final)
        if exports_to_keep is not None:
            self._collect(export_dir_base, exports_to_keep)
        return final

    def _write(self, folder: str, session: Any) -> None:
        with session.graph.as_default():
            builder = tf.saved_model.builder.SavedModelBuilder(folder)
            builder.add_meta_graph_and_variables(
                session,
                [tf.saved_model.tag_constants.SERVING],
                signature_def_map=self._signatures(session.graph),
                assets_collection=self._assets,
                main_op=self._init_op,
                clear_devices=self._clear_devices,
                saver=self._saver,
            )
            builder.save()
            if self._assets and self._assets_callback:
                self._assets_callback(self._asset_files(session), folder)

    def _asset_files(self, session: Any) -> dict[str, str]:
        paths = [tf.compat.as_text(session.run(tensor)) for tensor in self._assets]
        return {path: os.path.basename(path) for path in paths}

    def _signatures(self, graph: Any) -> dict[str, Any]:
        found: dict[str, Any] = {}
        pair = {"inputs", "outputs"} <= self._named.keys()
        for name, signature in self._named.items():
            if pair and name in ("inputs", "outputs"):
                continue
            found[name] = _signature_def(signature, graph)
        if self._default is not None and self._default.WhichOneof("type"):
            found[_DEFAULT] = _signature_def(self._default, graph)
        if pair:
            found[PREDICT_KEY if _DEFAULT in found else _DEFAULT] = _predict(
                self._named["inputs"], self._named["outputs"], graph
            )
        return found

    def _collect(self, base: str, keep: Callable[[Any], Any]) -> None:
        def version(path: gc.Path) -> gc.Path | None:
            name = os.path.basename(path.path)
            return path._replace(export_version=int(name)) if name.isdigit() else None

        for path in gc.negation(keep)(gc.get_paths(base, version)):
            tf.gfile.DeleteRecursively(path.path)


def _step(value: Any, session: Any) -> int:
    if isinstance(value, int):
        return value
    value = session.run(value) if hasattr(value, "graph") or hasattr(value, "op") else value
    return int(value)


def _tensors(bindings: Mapping[str, Any], graph: Any) -> dict[str, Any]:
    return {
        name: graph.get_tensor_by_name(binding.tensor_name) for name, binding in bindings.items()
    }


def _predict(inputs: Any, outputs: Any, graph: Any) -> Any:
    return tf.saved_model.signature_def_utils.predict_signature_def(
        _tensors(inputs.generic_signature.map, graph),
        _tensors(outputs.generic_signature.map, graph),
    )


def _signature_def(signature: Any, graph: Any) -> Any:
    """Return the SavedModel's form: what it cannot classify or regress on is predicted."""
    constants_ = tf.saved_model.signature_constants
    kind = signature.WhichOneof("type")
    if kind == "generic_signature":
        tensors = _tensors(signature.generic_signature.map, graph)
        info = {name: tf.saved_model.build_tensor_info(t) for name, t in tensors.items()}
        return tf.saved_model.build_signature_def(info, info, constants_.PREDICT_METHOD_NAME)
    message = getattr(signature, kind)
    bound = {
        field.name: graph.get_tensor_by_name(value.tensor_name)
        for field, value in message.ListFields()
    }
    source = bound.pop("input")
    if kind == "regression_signature":
        names = {"output": constants_.REGRESS_OUTPUTS}
        method, key = constants_.REGRESS_METHOD_NAME, constants_.REGRESS_INPUTS
        fits = source.dtype == tf.string and bound["output"].dtype == tf.float32
    else:
        names = {
            "classes": constants_.CLASSIFY_OUTPUT_CLASSES,
            "scores": constants_.CLASSIFY_OUTPUT_SCORES,
        }
        method, key = constants_.CLASSIFY_METHOD_NAME, constants_.CLASSIFY_INPUTS
        classes = bound.get("classes")
        fits = source.dtype == tf.string and (classes is None or classes.dtype == tf.string)
    return tf.saved_model.build_signature_def(
        {key: tf.saved_model.build_tensor_info(source)},
        {names[name]: tf.saved_model.build_tensor_info(t) for name, t in bound.items()},
        method if fits else constants_.PREDICT_METHOD_NAME,
    )
