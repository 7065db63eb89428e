"""``multi_gpu_model``, which TensorFlow 2.4 removed: each GPU gets a slice of every batch."""

from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf
from tf_keras.api._v1.keras import layers, models
from tf_keras.src import backend

from danlu_runtime import notes


def multi_gpu_model(
    model: Any,
    gpus: int | Sequence[int] | None = None,
    cpu_merge: bool = True,
    cpu_relocation: bool = False,
) -> Any:
    """Return a model that trains ``model`` on several GPUs; with fewer than two, ``model``."""
    there = len(backend._get_available_gpus())
    wanted = list(range(there if gpus is None else gpus)) if not _listed(gpus) else list(gpus)  # type: ignore[arg-type]
    usable = [gpu for gpu in wanted if gpu < there]
    if len(usable) < 2:
        found = "no GPU" if not there else "one GPU to use"
        notes.note("mapped", f"multi_gpu_model gives the model itself: there is {found}")
        return model
    if len(usable) < len(wanted):
        notes.note("mapped", f"multi_gpu_model uses {len(usable)} GPUs, {len(wanted)} were asked")
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
    """Return the part of a batch that a device gets; the last one gets what is left over."""
    size = tf.shape(data)[0]
    step = size // parts
    return data[step * index :] if index == parts - 1 else data[step * index : step * (index + 1)]


def _listed(value: Any) -> bool:
    return isinstance(value, list | tuple)
