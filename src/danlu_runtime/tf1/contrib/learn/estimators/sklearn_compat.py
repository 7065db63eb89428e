"""`tf.contrib.learn.SKCompat`: an estimator in the manner of scikit-learn."""

from collections.abc import Mapping
from typing import Any

from danlu_runtime.tf1.contrib.learn.estimators.estimator import BaseEstimator

__all__ = ["SKCompat"]


class SKCompat:
    """An estimator with the manners of scikit-learn: `predict` returns arrays."""

    def __init__(self, estimator: BaseEstimator) -> None:
        self._estimator = estimator

    def fit(
        self,
        x: Any,
        y: Any,
        batch_size: int = 128,
        steps: int | None = None,
        max_steps: int | None = None,
        monitors: Any = None,
    ) -> "SKCompat":
        self._estimator.fit(
            x=x, y=y, batch_size=batch_size, steps=steps, max_steps=max_steps, monitors=monitors
        )
        return self

    def score(
        self,
        x: Any,
        y: Any,
        batch_size: int = 128,
        steps: int | None = None,
        metrics: Mapping[Any, Any] | None = None,
        name: str | None = None,
    ) -> Any:
        results = self._estimator.evaluate(
            x=x, y=y, batch_size=batch_size, steps=steps, metrics=metrics, name=name or "score"
        )
        if metrics:
            results = {key: value for key, value in results.items() if key in metrics}
        return results

    def predict(self, x: Any, batch_size: int = 128, outputs: list[str] | None = None) -> Any:
        return BaseEstimator.predict(
            self._estimator, x=x, batch_size=batch_size, outputs=outputs, as_iterable=False
        )
