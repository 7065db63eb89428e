"""`tf.contrib.saved_model`: Keras models as SavedModels, and readers of them."""

import os
import time
from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime.start.activate import TENSORFLOW

__all__ = [
    "get_saved_model_tag_sets",
    "get_signature_def_by_key",
    "load_keras_model",
    "save_keras_model",
]

MODEL_JSON = "saved_model.json"
# Before 1.14 each save went into a folder of its own, named by the time.
_FIRST_DIRECT = (1, 14)


def save_keras_model(
    model: Any,
    saved_model_path: str,
    custom_objects: Any = None,
    as_text: bool | None = None,
    input_signature: Any = None,
    serving_only: bool = False,
) -> str:
    """Write a Keras model with its signature, weights and configuration; return the folder.

    Raises:
        NotImplementedError: the model is subclassed, so it has no graph of its own.
    """
    if not getattr(model, "_is_graph_network", False):
        raise NotImplementedError(
            "save_keras_model writes Sequential and functional models; "
            f"{type(model).__name__} is a subclassed one. Save its weights instead."
        )
    folder = _folder(tf.compat.as_text(saved_model_path))
    if tf.executing_eagerly():
        # A graph of TensorFlow 2 has the same signature and is read by the same loaders.
        model.save(folder, save_format="tf")
    else:
        _write(model, folder, bool(as_text))
    if not serving_only:
        _write_json(model, folder)
    return folder


def load_keras_model(saved_model_path: str, custom_objects: Any = None) -> Any:
    """Read back a model that `save_keras_model` wrote; it must be compiled again to train."""
    path = tf.compat.as_text(saved_model_path)
    json_path = os.path.join(path, "assets", MODEL_JSON)
    if not tf.gfile.Exists(json_path):
        raise ValueError(
            f"{path} has no {json_path}: it was not written by save_keras_model, or with "
            "serving_only=True. Serve it with tf.contrib.predictor.from_saved_model."
        )
    with tf.gfile.Open(json_path) as file:
        model = tf.keras.models.model_from_json(file.read(), custom_objects=custom_objects)
    checkpoint = os.path.join(path, "variables", "variables")
    if tf.executing_eagerly():
        loaded = tf.keras.models.load_model(path, custom_objects=custom_objects, compile=False)
        model.set_weights(loaded.get_weights())
        return model
    reader = tf.train.NewCheckpointReader(checkpoint)
    model.set_weights([reader.get_tensor(_key(i)) for i in range(len(model.weights))])
    return model


def get_signature_def_by_key(meta_graph_def: Any, signature_def_key: str) -> Any:
    """Return a signature of a MetaGraphDef.

    Raises:
        ValueError: there is none of that name.
    """
    if signature_def_key not in meta_graph_def.signature_def:
        raise ValueError(
            f"No SignatureDef with key '{signature_def_key}' found in MetaGraphDef; it has "
            f"{sorted(meta_graph_def.signature_def)}."
        )
    return meta_graph_def.signature_def[signature_def_key]


def get_saved_model_tag_sets(saved_model_dir: str) -> list[list[str]]:
    """Return the tags of each MetaGraphDef of a SavedModel."""
    from tensorflow.python.saved_model import loader_impl

    saved = loader_impl.parse_saved_model(tf.compat.as_text(saved_model_dir))
    return sorted(list(graph.meta_info_def.tags) for graph in saved.meta_graphs)


def _folder(path: str) -> str:
    version = os.environ.get(TENSORFLOW, "1.15").split(".")[:2]
    numbers = tuple(int(part) for part in version if part.isdigit())
    if numbers >= _FIRST_DIRECT:
        return path
    stamp = int(time.time())
    while tf.gfile.Exists(os.path.join(path, str(stamp))):
        stamp += 1
    return os.path.join(path, str(stamp))


def _write(model: Any, folder: str, as_text: bool) -> None:
    """Build the model again for inference, so that no dropout or training op is exported."""
    weights = model.get_weights()
    former = tf.keras.backend.get_session()
    with tf.Graph().as_default(), tf.Session() as session:
        tf.keras.backend.set_session(session)
        tf.keras.backend.set_learning_phase(0)
        copy = tf.keras.models.clone_model(model)
        names = dict(enumerate(copy.weights))
        session.run(tf.global_variables_initializer())
        copy.set_weights(weights)
        # Weights are named by their order: scopes of a model built twice are not the same.
        saver = tf.train.Saver({_key(i): weight for i, weight in names.items()})
        builder = tf.saved_model.builder.SavedModelBuilder(folder)
        signature = tf.saved_model.signature_def_utils.predict_signature_def(
            dict(zip(copy.input_names, copy.inputs, strict=True)),
            dict(zip(copy.output_names, copy.outputs, strict=True)),
        )
        default = tf.saved_model.signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY
        builder.add_meta_graph_and_variables(
            session,
            [tf.saved_model.tag_constants.SERVING],
            signature_def_map={default: signature},
            saver=saver,
        )
        builder.save(as_text)
    tf.keras.backend.set_session(former)  # the script goes on with its model


def _key(index: int) -> str:
    return f"weight_{index}"


def _write_json(model: Any, folder: str) -> None:
    assets = os.path.join(folder, "assets")
    tf.gfile.MakeDirs(assets)
    with tf.gfile.Open(os.path.join(assets, MODEL_JSON), "w") as file:
        file.write(model.to_json())
