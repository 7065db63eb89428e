"""Methods and arguments of models in Keras 1.0-2.3: ``fit(nb_epoch=…)``, ``fit_generator``.

TensorFlow 2.6 removed ``Sequential.predict_classes`` and ``predict_proba``.
"""

import functools
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from danlu.messages import get_message
from danlu_runtime.reports import notes

_FIT = {"nb_epoch": "epochs"}
_GENERATOR = {
    "max_q_size": "max_queue_size",
    "nb_worker": "workers",
    "pickle_safe": "use_multiprocessing",
}
_METHODS: dict[str, Mapping[str, str]] = {
    "fit": _FIT,
    "fit_generator": {**_FIT, **_GENERATOR, "nb_val_samples": "validation_samples"},
    "evaluate_generator": {**_GENERATOR, "val_samples": "samples"},
    "predict_generator": {**_GENERATOR, "val_samples": "samples"},
}


def accept() -> None:
    from tf_keras.src.engine.functional import Functional
    from tf_keras.src.engine.sequential import Sequential
    from tf_keras.src.engine.training import Model as Second
    from tf_keras.src.engine.training_v1 import Model as First

    for model in (First, Second):
        for method, table in _METHODS.items():
            setattr(model, method, _accepting(vars(model)[method], table))
        model.fit = _showing_validation_data(vars(model)["fit"])
    for method in ("fit", "evaluate", "predict"):
        setattr(First, method, _reading_iterators(vars(First)[method]))
    Second.__new__ = staticmethod(_naming_ends(Second.__new__))
    Functional.__init__ = _naming_ends(Functional.__init__)
    Sequential.predict_classes = _predict_classes
    Sequential.predict_proba = _predict_proba
    Sequential.add = _joining(Sequential.add)
    # In Keras 2.0-2.2 a Sequential had a separate network.
    Sequential.model = property(lambda self: self)


def _naming_ends(original: Callable[..., Any]) -> Callable[..., Any]:
    """Accept ``Model(input=…, output=…)`` of Keras 1."""

    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        for old, new in (("input", "inputs"), ("output", "outputs")):
            if old in kwargs and new not in kwargs:
                kwargs[new] = kwargs.pop(old)
                text = get_message("keras.keras1_model", old=old, new=new)
                notes.note("mapped", text, *notes.caller())
        return original(self, *args, **kwargs)

    return method


def _accepting(original: Callable[..., Any], table: Mapping[str, str]) -> Callable[..., Any]:
    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        for old in [name for name in table if name in kwargs]:
            kwargs[table[old]] = kwargs.pop(old)
            text = get_message(
                "keras.keras1_call", name__=original.__name__, old=old, table=table[old]
            )
            notes.note("mapped", text, *notes.caller())
        if original.__name__.endswith("_generator"):
            args, kwargs = _samples_to_steps(args, kwargs)
        return original(self, *args, **kwargs)

    return method


def _samples_to_steps(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Convert counts of samples (Keras 1) to counts of batches (Keras 2)."""
    kwargs = dict(kwargs)
    source = kwargs.pop("generator", None) if not args else args[0]
    if "samples_per_epoch" in kwargs:
        source, kwargs["steps_per_epoch"] = _batches(source, kwargs.pop("samples_per_epoch"))
    if "samples" in kwargs:
        source, kwargs["steps"] = _batches(source, kwargs.pop("samples"))
    if "validation_samples" in kwargs:
        count = kwargs.pop("validation_samples")
        if _is_generator(kwargs.get("validation_data")):
            kwargs["validation_data"], kwargs["validation_steps"] = _batches(
                kwargs["validation_data"], count
            )
    return (source, *args[1:]), kwargs


def _is_generator(data: Any) -> bool:
    return hasattr(data, "__next__") or (hasattr(data, "__getitem__") and hasattr(data, "__len__"))


def _batches(source: Any, samples: int) -> tuple[Any, int]:
    """Return the source and the number of its batches for so many samples."""
    size = getattr(source, "batch_size", None)
    if not size and hasattr(source, "__next__"):
        first = next(source)
        size = _length(first)
        source = _again(first, source)
    steps = max(1, math.ceil(samples / size)) if size else samples
    notes.note(
        "mapped",
        get_message("keras.keras1_samples", samples=samples, steps=steps, size=size),
        *notes.caller(),
    )
    return source, steps


def _again(first: Any, others: Iterator[Any]) -> Iterator[Any]:
    """Yield the batch that was read for its size, then the others.

    Keras treats a generator as endless data.
    """
    yield first
    yield from others


def _length(batch: Any) -> int:
    while isinstance(batch, tuple | list | dict):
        batch = next(iter(batch.values())) if isinstance(batch, dict) else batch[0]
    return len(batch)


def _showing_validation_data(original: Callable[..., Any]) -> Callable[..., Any]:
    """Set ``validation_data`` of callbacks, as Keras 2.0-2.3 did; callbacks of 2017 read it."""

    @functools.wraps(original)
    def fit(self: Any, *args: Any, **kwargs: Any) -> Any:
        data = kwargs.get("validation_data") or _split_off(args, kwargs)
        if isinstance(data, tuple | list) and len(data) in (2, 3):
            shown = [*_flat(data[0]), *_flat(data[1]), *_weights(data)]
            for callback in _flat(kwargs.get("callbacks")):
                if getattr(callback, "validation_data", shown) is None:
                    callback.validation_data = shown
        return original(self, *args, **kwargs)

    return fit


def _reading_iterators(original: Callable[..., Any]) -> Callable[..., Any]:
    """Accept the iterator of a data set, as TensorFlow before 1.14; its tensors are used."""

    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        first: Any = args[0] if args else kwargs.get("x")
        if _is_iterator(first):
            given = first.get_next()
            x, y, *weights = (*given, None) if isinstance(given, tuple) else (given, None)
            kwargs |= {"x": x} | ({"y": y} if original.__name__ != "predict" else {})
            if weights[:-1]:
                kwargs["sample_weight"] = weights[0]
            args = ()
        if _is_iterator(kwargs.get("validation_data")):
            kwargs["validation_data"] = kwargs["validation_data"].get_next()
        return original(self, *args, **kwargs)

    return method


def _is_iterator(data: Any) -> bool:
    import tensorflow.compat.v1 as tf

    return isinstance(data, tf.data.Iterator)


def _split_off(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the last part of arrays that ``validation_split`` selects, None without it."""
    share = kwargs.get("validation_split")
    x, y = (*args, kwargs.get("x"))[0], (*args[1:], kwargs.get("y"))[0]
    arrays = [*_flat(x), *_flat(y)]
    if not share or not arrays or not all(hasattr(array, "__array__") for array in arrays):
        return None
    at = int(len(arrays[0]) * (1.0 - share))
    return [array[at:] for array in _flat(x)], [array[at:] for array in _flat(y)]


def _weights(data: Any) -> list[Any]:
    import numpy as np

    if len(data) == 3:
        return _flat(data[2])
    return [
        np.ones(len(target), "float32") for target in _flat(data[1]) if hasattr(target, "shape")
    ]


def _flat(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def _predict_classes(self: Any, x: Any, batch_size: int = 32, verbose: int = 0) -> Any:
    """Return the class of each sample: the largest output, or 1 for an output above 0.5."""
    outputs = self.predict(x, batch_size=batch_size, verbose=verbose)
    if outputs.shape[-1] > 1:
        return outputs.argmax(axis=-1)
    return (outputs > 0.5).astype("int32")


def _predict_proba(self: Any, x: Any, batch_size: int = 32, verbose: int = 0) -> Any:
    """Return what ``predict`` returns."""
    return self.predict(x, batch_size=batch_size, verbose=verbose)


def _joining(original: Callable[..., None]) -> Callable[..., None]:
    """Accept ``Sequential.add(Merge([left, right]))`` of Keras 1, which has several inputs."""

    @functools.wraps(original)
    def add(self: Any, layer: Any) -> None:
        from danlu_runtime.keras2.keras1_layers import Merge

        if self.layers or not isinstance(layer, Merge):
            return original(self, layer)
        from tf_keras.src.engine.training import Model

        joined = Model(layer.joined_inputs, layer.joined_output)
        self._self_tracked_trackables.append(joined)
        self.inputs, self.outputs = joined.inputs, joined.outputs
        self.built = self._has_explicit_input_shape = True
        self._init_graph_network(self.inputs, self.outputs)
        self._graph_initialized = True
        return None

    return add
