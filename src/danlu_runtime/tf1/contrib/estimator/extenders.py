"""Estimators made of others: features passed through, gradients clipped, towers of one device."""

from collections.abc import Callable, Mapping
from typing import Any

import tensorflow.compat.v1 as tf

from danlu.errors import Unsupported
from danlu_runtime.tf1.estimator import public

__all__ = ["TowerOptimizer", "clip_gradients_by_norm", "forward_features", "replicate_model_fn"]

_FORWARDED = ("predict", tf.saved_model.signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY)


def forward_features(
    estimator: Any, keys: Any = None, sparse_default_values: Mapping[str, Any] | None = None
) -> Any:
    """Return an Estimator that predicts the given features beside its predictions; all by default.

    Raises:
        ValueError: a key is no feature, or has the name of a prediction.
    """
    wanted = [keys] if isinstance(keys, str) else None if keys is None else list(keys)

    def model_fn(features: Any, labels: Any, mode: str, config: Any) -> Any:
        spec = estimator.model_fn(features, labels, mode, config)
        if spec.predictions is None:
            return spec
        if not isinstance(spec.predictions, dict):
            raise ValueError(f"Predictions should be a dict to have features added, got {spec}.")
        chosen = list(features) if wanted is None else wanted
        _check_keys(chosen, features, spec.predictions)
        added = {key: _dense(key, features[key], sparse_default_values or {}) for key in chosen}
        for key in _FORWARDED:
            output = (spec.export_outputs or {}).get(key)
            if isinstance(output, public().export.PredictOutput):
                output.outputs.update(added)
        return spec._replace(predictions={**spec.predictions, **added})

    return public().Estimator(
        model_fn=model_fn, model_dir=estimator.model_dir, config=estimator.config
    )


def _check_keys(keys: Any, features: Mapping[str, Any], predictions: Mapping[str, Any]) -> None:
    missing = sorted(set(keys) - features.keys())
    if missing:
        raise ValueError(f"Keys {missing} should be in features, which has {sorted(features)}.")
    taken = sorted(set(keys) & predictions.keys())
    if taken:
        raise ValueError(f"Cannot forward feature key {taken}: it is a key of the predictions.")


def _dense(key: str, value: Any, defaults: Mapping[str, Any]) -> Any:
    if not isinstance(value, tf.SparseTensor):
        return tf.convert_to_tensor(value)
    if key not in defaults:
        raise ValueError(
            f"Feature {key} is a SparseTensor: give its default in sparse_default_values."
        )
    return tf.sparse.to_dense(value, default_value=defaults[key])


class DelegatingOptimizer(tf.train.Optimizer):
    """An optimizer that leaves the work to another."""

    def __init__(self, optimizer: Any, name: str) -> None:
        super().__init__(use_locking=False, name=name)
        self._inner = optimizer

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
        return self._inner.compute_gradients(*args, **kwargs)

    def apply_gradients(self, *args: Any, **kwargs: Any) -> Any:
        return self._inner.apply_gradients(*args, **kwargs)

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        return self._inner.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> Any:
        return self._inner.get_slot_names(*args, **kwargs)

    def variables(self) -> Any:
        return self._inner.variables()


class _Clipping(DelegatingOptimizer):
    def __init__(self, optimizer: Any, clip_norm: Any, name: str) -> None:
        super().__init__(optimizer, name)
        self._clip_norm = clip_norm

    def apply_gradients(self, grads_and_vars: Any, *args: Any, **kwargs: Any) -> Any:
        gradients, variables = zip(*grads_and_vars, strict=True)
        clipped, _ = tf.clip_by_global_norm(gradients, self._clip_norm)
        pairs = list(zip(clipped, variables, strict=True))
        return self._inner.apply_gradients(pairs, *args, **kwargs)


def clip_gradients_by_norm(optimizer: Any, clip_norm: Any) -> Any:
    """Return an optimizer that clips gradients by their global norm before it applies them."""
    inner = getattr(optimizer, "_name", "Optimizer")
    return _Clipping(optimizer, clip_norm, name=f"Clip{inner}")


class TowerOptimizer(DelegatingOptimizer):
    """Takes the optimizer of a replicated model_fn; with one tower that is all there is to do."""

    def __init__(self, optimizer_or_optimizer_fn: Any) -> None:
        made = optimizer_or_optimizer_fn
        super().__init__(made() if callable(made) else made, name="TowerOptimizer")


def replicate_model_fn(
    model_fn: Callable[..., Any],
    loss_reduction: str = tf.losses.Reduction.SUM_BY_NONZERO_WEIGHTS,
    devices: Any = None,
) -> Callable[..., Any]:
    """Return the model_fn itself on one device.

    Raises:
        Unsupported: there are several devices to replicate over.
    """
    found = devices or [device.name for device in tf.config.list_logical_devices("GPU")]
    if len(found) > 1:
        raise Unsupported.from_key("tf1.replicate", found=len(found))
    return model_fn
