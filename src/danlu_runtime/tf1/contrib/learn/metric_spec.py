"""`tf.contrib.learn.MetricSpec`: which prediction a metric is of, against which label."""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

_LABELS = ("labels", "label", "targets", "target")
_PREDICTIONS = ("predictions", "prediction", "predicted", "probabilities", "logits", "values")
_WEIGHTS = ("weights", "weight", "sample_weights")


class MetricSpec:
    """Binds a metric function to keys of the predictions, the labels and the weights."""

    def __init__(
        self,
        metric_fn: Callable[..., Any],
        prediction_key: str | None = None,
        label_key: str | None = None,
        weight_key: str | None = None,
    ) -> None:
        self._metric_fn = metric_fn
        self._prediction_key = prediction_key
        self._label_key = label_key
        self._weight_key = weight_key

    @property
    def metric_fn(self) -> Callable[..., Any]:
        return self._metric_fn

    @property
    def metric_fn_name(self) -> str:
        fn = self._metric_fn
        while isinstance(fn, functools.partial):
            fn = fn.func
        return getattr(fn, "__name__", type(fn).__name__)

    @property
    def prediction_key(self) -> str | None:
        return self._prediction_key

    @property
    def label_key(self) -> str | None:
        return self._label_key

    @property
    def weight_key(self) -> str | None:
        return self._weight_key

    def __str__(self) -> str:
        parts = {
            "metric_fn": self.metric_fn_name,
            "prediction_key": self._prediction_key,
            "label_key": self._label_key,
            "weight_key": self._weight_key,
        }
        return f"MetricSpec({', '.join(f'{key}={value}' for key, value in parts.items())})"

    def create_metric_ops(self, inputs: Any, labels: Any, predictions: Any) -> Any:
        """Return what the metric function gives for the bound tensors.

        Raises:
            ValueError: a key is missing, or is needed because there are several tensors.
        """
        prediction = self._pick(predictions, self._prediction_key, "prediction")
        label = self._pick(labels, self._label_key, "label")
        weights = None
        if self._weight_key is not None:
            weights = self._pick(inputs, self._weight_key, "weight")
        return call_metric(self._metric_fn, prediction, label, weights)

    def _pick(self, tensors: Any, key: str | None, kind: str) -> Any:
        if not isinstance(tensors, Mapping):
            if key:
                raise ValueError(
                    f"MetricSpec with {kind}_key specified requires {kind}s dict, got "
                    f"{type(tensors).__name__}. Leave {kind}_key out."
                )
            return tensors
        if key is not None:
            if key not in tensors:
                raise ValueError(
                    f"MetricSpec has {kind}_key {key!r}, which is not in "
                    f"{sorted(map(str, tensors))}."
                )
            return tensors[key]
        if len(tensors) != 1:
            raise ValueError(
                f"MetricSpec without specified {kind}_key requires {kind}s tensor or single "
                f"element dict, got {sorted(map(str, tensors))}."
            )
        return next(iter(tensors.values()))


def call_metric(metric_fn: Callable[..., Any], prediction: Any, label: Any, weights: Any) -> Any:
    """Call a metric function by the names its arguments have; `tf.metrics` says labels first."""
    names = _argument_names(metric_fn)
    label_name = next((name for name in names if name in _LABELS), None)
    prediction_name = next((name for name in names if name in _PREDICTIONS), None)
    if prediction_name is None and label_name is not None:
        free = [name for name in names if name != label_name and name not in _WEIGHTS]
        prediction_name = free[0] if free else None
    if prediction_name is None:
        # A function that says nothing takes predictions, then labels, as `streaming_…` did.
        return (
            metric_fn(prediction, label)
            if weights is None
            else metric_fn(prediction, label, weights)
        )
    arguments = {prediction_name: prediction}
    if label_name is not None:
        arguments[label_name] = label
    if weights is not None:
        weight_name = next((name for name in names if name in _WEIGHTS), None)
        if weight_name is None:
            raise ValueError(
                f"MetricSpec has a weight_key, but {metric_fn} takes no argument named weights."
            )
        arguments[weight_name] = weights
    return metric_fn(**arguments)


def _argument_names(fn: Callable[..., Any]) -> list[str]:
    bound: set[str] = set()
    if isinstance(fn, functools.partial):
        bound = set(fn.keywords)
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    parameters = inspect.signature(fn).parameters.values()
    return [p.name for p in parameters if p.kind in kinds and p.name not in bound]
