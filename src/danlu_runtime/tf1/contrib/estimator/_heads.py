"""The heads of `tf.contrib.estimator`: those of `tf.estimator`, losses averaged over the batch.

Several heads on one body are merged here; TensorFlow's own `MultiHead` takes Keras optimizers only.
"""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime.tf1.estimator import private, public

_heads = private("canned.head")
_MEAN = tf.losses.Reduction.SUM_OVER_BATCH_SIZE
# TensorFlow 2's own head spells them so.
_REDUCTIONS_2 = {_MEAN: "sum_over_batch_size", tf.losses.Reduction.SUM: "sum"}
_DEFAULT = tf.saved_model.signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY
_PREDICT = "predict"


def binary_classification_head(
    weight_column: Any = None,
    thresholds: Sequence[float] | None = None,
    label_vocabulary: Sequence[str] | None = None,
    loss_reduction: str = _MEAN,
    loss_fn: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Any:
    """Return a head for two classes."""
    return _heads._binary_logistic_head_with_sigmoid_cross_entropy_loss(
        weight_column=weight_column,
        thresholds=thresholds,
        label_vocabulary=label_vocabulary,
        loss_reduction=loss_reduction,
        loss_fn=loss_fn,
        name=name,
    )


def multi_class_head(
    n_classes: int,
    weight_column: Any = None,
    label_vocabulary: Sequence[str] | None = None,
    loss_reduction: str = _MEAN,
    loss_fn: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Any:
    """Return a head for more than two classes."""
    return _heads._multi_class_head_with_softmax_cross_entropy_loss(
        n_classes=n_classes,
        weight_column=weight_column,
        label_vocabulary=label_vocabulary,
        loss_reduction=loss_reduction,
        loss_fn=loss_fn,
        name=name,
    )


def regression_head(
    weight_column: Any = None,
    label_dimension: int = 1,
    loss_reduction: str = _MEAN,
    loss_fn: Callable[..., Any] | None = None,
    inverse_link_fn: Callable[[Any], Any] | None = None,
    name: str | None = None,
) -> Any:
    """Return a head for numbers: mean squared error unless a loss is given."""
    return _heads._regression_head(
        weight_column=weight_column,
        label_dimension=label_dimension,
        loss_reduction=loss_reduction,
        loss_fn=loss_fn,
        inverse_link_fn=inverse_link_fn,
        name=name,
    )


def poisson_regression_head(
    weight_column: Any = None,
    label_dimension: int = 1,
    loss_reduction: str = _MEAN,
    compute_full_loss: bool = True,
    name: str | None = None,
) -> Any:
    """Return a head for counts."""

    def loss(labels: Any, logits: Any) -> Any:
        return tf.nn.log_poisson_loss(labels, logits, compute_full_loss=compute_full_loss)

    return regression_head(weight_column, label_dimension, loss_reduction, loss, tf.exp, name)


def logistic_regression_head(
    weight_column: Any = None, loss_reduction: str = _MEAN, name: str | None = None
) -> Any:
    """Return a head for probabilities: labels are numbers in [0, 1]."""

    def loss(labels: Any, logits: Any) -> Any:
        return tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)

    return regression_head(weight_column, 1, loss_reduction, loss, tf.sigmoid, name)


def multi_label_head(
    n_classes: int,
    weight_column: Any = None,
    thresholds: Sequence[float] | None = None,
    label_vocabulary: Sequence[str] | None = None,
    loss_reduction: str = _MEAN,
    loss_fn: Callable[..., Any] | None = None,
    classes_for_class_based_metrics: Any = None,
    name: str | None = None,
) -> Any:
    """Return a head for examples that may have several classes at once."""
    if loss_reduction not in _REDUCTIONS_2:
        raise ValueError(
            "multi_label_head reduces its loss by SUM or SUM_OVER_BATCH_SIZE, got "
            f"{loss_reduction}."
        )
    return _MultiLabel(
        n_classes=n_classes,
        weight_column=weight_column,
        thresholds=thresholds,
        label_vocabulary=label_vocabulary,
        loss_reduction=_REDUCTIONS_2[loss_reduction],
        loss_fn=loss_fn,
        classes_for_class_based_metrics=classes_for_class_based_metrics,
        name=name,
    )


_MultiLabelHead: Any = public().MultiLabelHead


class _MultiLabel(_MultiLabelHead):
    """TensorFlow 2's head takes Keras optimizers only: an optimizer of 1.x becomes a function."""

    def create_estimator_spec(
        self,
        features: Any,
        mode: str,
        logits: Any,
        labels: Any = None,
        optimizer: Any = None,
        train_op_fn: Callable[[Any], Any] | None = None,
        regularization_losses: Any = None,
        **_: Any,
    ) -> Any:
        return super().create_estimator_spec(
            features=features,
            mode=mode,
            logits=logits,
            labels=labels,
            train_op_fn=_train_op_fn(optimizer, train_op_fn),
            regularization_losses=regularization_losses,
        )


def multi_head(heads: Sequence[Any], head_weights: Sequence[float] | None = None) -> Any:
    """Return several named heads as one; the losses are added, weighted where weights are given."""
    return _MultiHead(heads, head_weights)


class _MultiHead:
    """Predictions are keyed by (head name, key), export outputs by `name` and `name/key`."""

    def __init__(self, heads: Sequence[Any], weights: Sequence[float] | None) -> None:
        if not heads:
            raise ValueError("Must specify heads. Given: []")
        if weights and len(weights) != len(heads):
            raise ValueError(
                f"heads and head_weights must have the same size: {len(heads)} and {len(weights)}."
            )
        names = [head.name for head in heads]
        if not all(names) or len(set(names)) != len(names):
            raise ValueError(f"All heads must have a name of their own, got {names}.")
        self._heads = list(heads)
        self._weights = list(weights or [1.0] * len(heads))

    @property
    def name(self) -> str:
        return "_".join(head.name for head in self._heads)

    @property
    def logits_dimension(self) -> int:
        return sum(head.logits_dimension for head in self._heads)

    def create_estimator_spec(
        self,
        features: Any,
        mode: str,
        logits: Any,
        labels: Any = None,
        optimizer: Any = None,
        train_op_fn: Callable[[Any], Any] | None = None,
        regularization_losses: Any = None,
    ) -> Any:
        keys = public().ModeKeys
        specs = {
            head.name: head.create_estimator_spec(
                features=features,
                mode=mode,
                logits=part,
                labels=None if labels is None else labels[head.name],
                train_op_fn=(lambda loss: tf.no_op()) if mode == keys.TRAIN else None,
            )
            for head, part in zip(self._heads, self._parts(logits), strict=True)
        }
        predictions = {
            (name, key): value
            for name, spec in specs.items()
            for key, value in (spec.predictions or {}).items()
        }
        if mode == keys.PREDICT:
            return public().EstimatorSpec(
                mode, predictions=predictions, export_outputs=_export_outputs(specs)
            )
        loss = self._loss(specs, regularization_losses)
        if mode == keys.EVAL:
            return public().EstimatorSpec(
                mode, predictions=predictions, loss=loss, eval_metric_ops=_metrics(specs)
            )
        tf.summary.scalar("loss", loss)
        train = _train_op_fn(optimizer, train_op_fn)
        if train is None:
            raise ValueError("Exactly one of train_op_fn and optimizer must be set.")
        return public().EstimatorSpec(
            mode, predictions=predictions, loss=loss, train_op=train(loss)
        )

    def _parts(self, logits: Any) -> list[Any]:
        if isinstance(logits, dict):
            return [logits[head.name] for head in self._heads]
        return tf.split(logits, [head.logits_dimension for head in self._heads], axis=-1)

    def _loss(self, specs: dict[str, Any], regularization_losses: Any) -> Any:
        parts = [
            spec.loss * weight for spec, weight in zip(specs.values(), self._weights, strict=True)
        ]
        return tf.add_n(parts + list(regularization_losses or []))


def _metrics(specs: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, spec in specs.items():
        found |= spec.eval_metric_ops or {}
        found[f"loss/{name}"] = tf.metrics.mean(spec.loss)
    return found


def _export_outputs(specs: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    together: dict[str, Any] = {}
    for name, spec in specs.items():
        for key, output in (spec.export_outputs or {}).items():
            found.setdefault(_DEFAULT, output)
            found[name if key == _DEFAULT else f"{name}/{key}"] = output
            if key == _PREDICT:
                together |= {f"{name}/{part}": t for part, t in output.outputs.items()}
    found[_PREDICT] = public().export.PredictOutput(together)
    return found


def _train_op_fn(optimizer: Any, train_op_fn: Callable[[Any], Any] | None) -> Any:
    if optimizer is None:
        return train_op_fn
    if train_op_fn is not None:
        raise ValueError("train_op_fn and optimizer cannot both be set.")
    return lambda loss: optimizer.minimize(loss, global_step=tf.train.get_global_step())
