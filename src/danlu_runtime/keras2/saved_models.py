"""``tf.keras.experimental.export_saved_model`` of TensorFlow 1.13-2.0, and ``multi_gpu_model``."""

import os
from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf
from tf_keras.api._v1.keras import layers, models
from tf_keras.src import backend

from danlu.messages import get_message
from danlu_runtime.reports import notes

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
    """Write a SavedModel for serving, with the structure of the model beside it."""
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
    """Return the Keras model written by ``export_saved_model``."""
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


def multi_gpu_model(
    model: Any,
    gpus: int | list[int] | tuple[int, ...] | None = None,
    cpu_merge: bool = True,
    cpu_relocation: bool = False,
) -> Any:
    """Return a model that trains ``model`` on several GPUs, or ``model`` with fewer than two.

    TensorFlow 2.4 removed it. Each GPU gets a slice of every batch.
    """
    there = len(backend._get_available_gpus())
    if isinstance(gpus, list | tuple):
        wanted = list(gpus)
    else:
        wanted = list(range(there if gpus is None else gpus))
    usable = [gpu for gpu in wanted if gpu < there]
    if len(usable) < 2:
        key = "keras.multi_gpu_one" if there else "keras.multi_gpu_none"
        notes.note("mapped", get_message(key))
        return model
    if len(usable) < len(wanted):
        notes.note(
            "mapped", get_message("keras.multi_gpu_fewer", usable=len(usable), wanted=len(wanted))
        )
    devices = [f"/gpu:{gpu}" for gpu in usable]
    return replicated(model, devices, "/cpu:0" if cpu_merge else devices[0])


def replicated(model: Any, devices: Sequence[str], merge_on: str) -> Any:
    """Return a model that calls ``model`` on each device with its share of the batch."""
    outputs: list[list[Any]] = [[] for _ in model.outputs]
    for index, device in enumerate(devices):
        with tf.device(device), tf.name_scope(f"replica_{index}"):
            slices = [
                layers.Lambda(
                    _slice,
                    output_shape=tuple(tensor.shape[1:]),
                    arguments={"index": index, "parts": len(devices)},
                )(tensor)
                for tensor in model.inputs
            ]
            made = model(slices if len(slices) > 1 else slices[0])
            for place, output in zip(outputs, made if _listed(made) else [made], strict=True):
                place.append(output)
    with tf.device(merge_on):
        merged = [
            layers.concatenate(parts, axis=0, name=name)
            for name, parts in zip(model.output_names, outputs, strict=True)
        ]
    return models.Model(model.inputs, merged if len(merged) > 1 else merged[0])


def _slice(data: Any, index: int, parts: int) -> Any:
    """Return the part of a batch for a device; the last device also gets the remainder."""
    size = tf.shape(data)[0]
    step = size // parts
    return data[step * index :] if index == parts - 1 else data[step * index : step * (index + 1)]


def _listed(value: Any) -> bool:
    return isinstance(value, list | tuple)
