"""Metrics of Keras 1, which were means over the batches: Keras 2 left them out for that."""

from typing import Any

from tf_keras.src import backend as K

Tensor = Any


def _counts(y_true: Tensor, y_pred: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return true positives, predicted positives and possible positives."""
    hits = K.sum(K.round(K.clip(y_true * y_pred, 0, 1)))
    predicted = K.sum(K.round(K.clip(y_pred, 0, 1)))
    possible = K.sum(K.round(K.clip(y_true, 0, 1)))
    return hits, predicted, possible


def precision(y_true: Tensor, y_pred: Tensor) -> Tensor:
    hits, predicted, _ = _counts(y_true, y_pred)
    return hits / (predicted + K.epsilon())


def recall(y_true: Tensor, y_pred: Tensor) -> Tensor:
    hits, _, possible = _counts(y_true, y_pred)
    return hits / (possible + K.epsilon())


def fbeta_score(y_true: Tensor, y_pred: Tensor, beta: float = 1) -> Tensor:
    if beta < 0:
        raise ValueError(f"beta is a number of 0 or more, got {beta!r}.")
    p, r = precision(y_true, y_pred), recall(y_true, y_pred)
    return (1 + beta**2) * (p * r) / (beta**2 * p + r + K.epsilon())


def fmeasure(y_true: Tensor, y_pred: Tensor) -> Tensor:
    return fbeta_score(y_true, y_pred, beta=1)


def matthews_correlation(y_true: Tensor, y_pred: Tensor) -> Tensor:
    predicted, actual = K.round(K.clip(y_pred, 0, 1)), K.round(K.clip(y_true, 0, 1))
    tp, tn = K.sum(actual * predicted), K.sum((1 - actual) * (1 - predicted))
    fp, fn = K.sum((1 - actual) * predicted), K.sum(actual * (1 - predicted))
    bottom = K.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    return (tp * tn - fp * fn) / (bottom + K.epsilon())
