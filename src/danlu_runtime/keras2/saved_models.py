"""``tf.keras.experimental.export_saved_model`` of TensorFlow 1.13-2.0."""

import os
from typing import Any

_MODEL = "saved_model.json"
_ASSETS = "assets"


def export_saved_model(
    model: Any,
    saved_model_path: str,
    custom_objects: Any = None,
    as_text: bool = False,
    input_signature: Any = None,
    serving_only: bool = False,
) -> None:
    """Write a SavedModel that can be served, with the structure of the model beside it."""
    import tensorflow.compat.v1 as tf
    from tf_keras.src import backend

    if tf.io.gfile.exists(os.path.join(saved_model_path, "saved_model.pb")):
        raise ValueError(f"{saved_model_path!r} has a SavedModel already; name an empty folder.")
    if tf.executing_eagerly():
        model.save(saved_model_path, save_format="tf", include_optimizer=not serving_only)
    else:
        session = backend.get_session()
        tf.saved_model.simple_save(
            session,
            saved_model_path,
            inputs={_name(tensor): tensor for tensor in model.inputs},
            outputs={
                name: out for name, out in zip(model.output_names, model.outputs, strict=True)
            },
        )
    folder = os.path.join(saved_model_path, _ASSETS)
    tf.io.gfile.makedirs(folder)
    with tf.io.gfile.GFile(os.path.join(folder, _MODEL), "w") as file:
        file.write(model.to_json())
    model.save_weights(os.path.join(folder, "weights.h5"))


def load_from_saved_model(saved_model_path: str, custom_objects: Any = None) -> Any:
    """Return the Keras model that ``export_saved_model`` wrote."""
    import tensorflow.compat.v1 as tf
    from tf_keras.api._v1.keras import models

    folder = os.path.join(saved_model_path, _ASSETS)
    path = os.path.join(folder, _MODEL)
    if not tf.io.gfile.exists(path):
        return models.load_model(saved_model_path, custom_objects=custom_objects)
    with tf.io.gfile.GFile(path) as file:
        model = models.model_from_json(file.read(), custom_objects=custom_objects)
    model.load_weights(os.path.join(folder, "weights.h5"))
    return model


def _name(tensor: Any) -> str:
    return str(tensor.name).partition(":")[0]
