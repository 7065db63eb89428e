"""``keras.wrappers.scikit_learn``: Keras models as scikit-learn estimators.

TensorFlow 2.12 removed them. These classes support the current scikit-learn: ``GridSearchCV`` and
``cross_val_score`` can clone, tag and score them.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

_ACCURACY = ("acc", "accuracy")
_METHODS = ("fit", "predict", "predict_classes", "evaluate")


class BaseWrapper(BaseEstimator):
    """Builds the model with ``build_fn`` and passes each method the arguments that it takes."""

    def __init__(self, build_fn: Callable[..., Any] | None = None, **sk_params: Any) -> None:
        self.build_fn = build_fn
        self.sk_params = sk_params
        self.check_params(sk_params)

    def check_params(self, params: Mapping[str, Any]) -> None:
        """Raise ValueError for an argument that neither the model nor ``build_fn`` takes."""
        from tf_keras.src.engine.training_v1 import Model

        builder = inspect.signature(self._builder()).parameters
        if any(one.kind is one.VAR_KEYWORD for one in builder.values()):
            return
        known = {"nb_epoch", "batch_size", *builder}
        for method in ("fit", "evaluate", "predict"):
            known.update(inspect.signature(getattr(Model, method)).parameters)
        unknown = [name for name in params if name not in known]
        if unknown:
            raise ValueError(
                f"{unknown[0]!r} is no argument of the function that builds the model, "
                "nor of fit, predict or evaluate."
            )

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {"build_fn": self.build_fn, **self.sk_params}

    def set_params(self, **params: Any) -> Any:
        self.check_params({name: value for name, value in params.items() if name != "build_fn"})
        if "build_fn" in params:
            self.build_fn = params.pop("build_fn")
        self.sk_params.update(params)
        return self

    def fit(self, x: Any, y: Any, **kwargs: Any) -> Any:
        """Build and train a new model; return the result of Keras's ``fit``."""
        builder = self._builder()
        self.model = builder(**self.filter_sk_params(builder))
        loss = self.model.loss
        name = loss if isinstance(loss, str) else getattr(loss, "__name__", "")
        if name == "categorical_crossentropy" and len(np.shape(y)) != 2:
            from tf_keras.src.utils.np_utils import to_categorical

            y = to_categorical(y)
        arguments = {**self.filter_sk_params(type(self.model).fit), **kwargs}
        if "nb_epoch" in self.sk_params:
            arguments.setdefault("epochs", self.sk_params["nb_epoch"])
        self.history_ = self.model.fit(x, y, **arguments)
        return self.history_

    def filter_sk_params(
        self, fn: Callable[..., Any], override: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return the parameters that ``fn`` takes, and ``override``."""
        known = inspect.signature(fn).parameters
        chosen = {name: value for name, value in self.sk_params.items() if name in known}
        return {**chosen, **(override or {})}

    def _builder(self) -> Callable[..., Any]:
        if self.build_fn is not None:
            return self.build_fn
        if not callable(self):
            raise ValueError("Give build_fn, a function that returns a compiled model.")
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model")

    def __repr__(self, *_: Any) -> str:
        return (
            f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self.sk_params.items())})"
        )


class KerasClassifier(ClassifierMixin, BaseWrapper):
    """A model with classes as outputs."""

    def fit(self, x: Any, y: Any, **kwargs: Any) -> Any:
        y = np.array(y)
        if y.ndim == 2 and y.shape[1] > 1:
            self.classes_ = np.arange(y.shape[1])
        elif y.ndim == 1 or (y.ndim == 2 and y.shape[1] == 1):
            self.classes_ = np.unique(y)
            y = np.searchsorted(self.classes_, y)
        else:
            raise ValueError(f"y is a column of classes or one column for each, got {y.shape}.")
        self.n_classes_ = len(self.classes_)
        return super().fit(x, y, **kwargs)

    def predict(self, x: Any, **kwargs: Any) -> Any:
        probabilities = self._probabilities(x, kwargs)
        if probabilities.shape[-1] > 1:
            return self.classes_[probabilities.argmax(axis=-1)]
        return self.classes_[(probabilities > 0.5).astype("int32")]

    def predict_proba(self, x: Any, **kwargs: Any) -> Any:
        """Return one column for each class."""
        probabilities = self._probabilities(x, kwargs)
        if probabilities.shape[1] == 1:
            probabilities = np.hstack([1 - probabilities, probabilities])
        return probabilities

    def score(self, x: Any, y: Any, **kwargs: Any) -> float:
        """Return the accuracy; the model must have been compiled with this metric."""
        y = np.searchsorted(self.classes_, y) if len(np.shape(y)) == 1 else y
        loss = self.model.loss
        name = loss if isinstance(loss, str) else getattr(loss, "__name__", "")
        if name == "categorical_crossentropy" and len(np.shape(y)) != 2:
            from tf_keras.src.utils.np_utils import to_categorical

            y = to_categorical(y, self.n_classes_)
        outputs = _evaluated(self, x, y, kwargs)
        for metric, output in zip(self.model.metrics_names, outputs, strict=False):
            if metric in _ACCURACY:
                return float(output)
        raise ValueError("The model has no accuracy: pass metrics=['accuracy'] to compile().")

    def _probabilities(self, x: Any, kwargs: dict[str, Any]) -> Any:
        predict = type(self.model).predict
        return self.model.predict(x, **{**self.filter_sk_params(predict), **kwargs})


class KerasRegressor(RegressorMixin, BaseWrapper):
    """A model with numbers as outputs."""

    def predict(self, x: Any, **kwargs: Any) -> Any:
        predict = type(self.model).predict
        return np.squeeze(self.model.predict(x, **{**self.filter_sk_params(predict), **kwargs}))

    def score(self, x: Any, y: Any, **kwargs: Any) -> float:
        """Return the negative loss; larger is better."""
        return -float(_evaluated(self, x, y, kwargs)[0])


def _evaluated(wrapper: Any, x: Any, y: Any, kwargs: dict[str, Any]) -> list[Any]:
    arguments = {**wrapper.filter_sk_params(type(wrapper.model).evaluate), **kwargs}
    outputs = wrapper.model.evaluate(x, y, **arguments)
    return outputs if isinstance(outputs, list) else [outputs]
