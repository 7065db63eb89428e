"""``tf.estimator``: tensorflow-estimator 2.15, the last version, on TensorFlow 2.21.

It imports modules and names that TensorFlow removed later. None of them is needed to train on CPUs
and GPUs. Therefore empty ones are added before it is imported.
"""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from typing import Any

from danlu_runtime.tf1.facade import RemovedNameError, sentence

_API = "tensorflow_estimator.python.estimator.api._v1.estimator"
_API_2 = "tensorflow_estimator.python.estimator.api._v2.estimator"
_PRIVATE = "tensorflow_estimator.python.estimator"
_TPU = ("tpu_embedding", "tpu_embedding_gradient", "session_support")
_TREES = "removed.estimator_trees"
_reviving: list[bool] = []
_GONE = {
    name: _TREES
    for name in (
        "BoostedTreesClassifier",
        "BoostedTreesRegressor",
        "BoostedTreesEstimator",
    )
}


def public(rest: str = "") -> Any:
    """Return ``tensorflow.estimator`` of 1.x, or its submodule ``rest``; None if there is none."""
    found = _below(_API, rest)
    return _Estimator(found) if found is not None and not rest else found


def second(rest: str = "") -> ModuleType | None:
    """Return ``tensorflow.estimator`` of 2.x, or its submodule ``rest``."""
    return _below(_API_2, rest)


def private(rest: str) -> Any:
    """Return ``tensorflow.python.estimator.<rest>``, None if there is none."""
    moved = {"export.export": "export.export_lib"}
    return _below(_PRIVATE, moved.get(rest, rest))


def _below(api: str, rest: str) -> ModuleType | None:
    revive()
    try:
        return importlib.import_module(f"{api}.{rest}" if rest else api)
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith(api):
            raise
        return None


class _Estimator(ModuleType):
    """The public module; removed names raise RemovedNameError."""

    def __init__(self, api: ModuleType) -> None:
        super().__init__("tensorflow.estimator", api.__doc__)
        self.__path__ = list(api.__path__)
        self._api = api

    def __getattr__(self, name: str) -> Any:
        if name in _GONE:
            raise RemovedNameError(sentence(f"tf.estimator.{name}", _GONE[name]))
        return getattr(self.__dict__["_api"], name)

    def __dir__(self) -> list[str]:
        return dir(self._api)


def __getattr__(name: str) -> Any:
    """Return the 1.x module for the name ``estimator``, imported on use."""
    if name == "estimator":
        return public()
    raise AttributeError(name)


def resolve(name: str) -> ModuleType | None:
    """Return ``tensorflow_estimator`` for modules that import it by that name, after ``revive``."""
    if name == "tensorflow_estimator" and not _reviving:
        revive()
        return sys.modules[name]
    return None


@cache
def revive() -> None:
    """Import tensorflow-estimator, once."""
    _reviving.append(True)
    _put_back_tpu_modules()
    _put_back_estimator_training()
    _put_back_export_names()
    with _the_real_tensorflow():
        importlib.import_module(_API)


@contextmanager
def _the_real_tensorflow() -> Iterator[None]:
    """Make ``import tensorflow as tf`` return TensorFlow 2, which the package's modules expect."""
    facade = sys.modules["tensorflow"]
    real = getattr(facade, "_real", facade)
    sys.modules["tensorflow"] = real
    try:
        yield
    finally:
        sys.modules["tensorflow"] = facade


class _Emptied(ModuleType):
    """A module that has every name; its contents are called on a TPU only."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


def _put_back_tpu_modules() -> None:
    from tensorflow.python import tpu

    for name in _TPU:
        module = _Emptied(f"tensorflow.python.tpu.{name}")
        sys.modules.setdefault(module.__name__, module)
        setattr(tpu, name, sys.modules[module.__name__])


def _put_back_estimator_training() -> None:
    from tensorflow.python import distribute

    training = ModuleType("tensorflow.python.distribute.estimator_training")
    training.__dict__.update(
        init_run_config=_init_run_config,
        should_run_distribute_coordinator=lambda config: False,
        estimator_train=None,
        estimator_evaluate=None,
        train_and_evaluate=None,
    )
    sys.modules[training.__name__] = training
    distribute.estimator_training = training


def _init_run_config(config: Any, tf_config: Any) -> None:
    config._distribute_coordinator_mode = None
    # Otherwise a RunConfig with train_distribute lacks its task type.
    config._init_distributed_setting_from_environment_var(tf_config)


def _put_back_export_names() -> None:
    from tensorflow.python.util import tf_export

    name, marks = "estimator", tf_export._Attributes
    tf_export.ESTIMATOR_API_NAME = name
    tf_export.API_ATTRS[name] = marks("_estimator_api_names", "_estimator_api_constants")
    tf_export.API_ATTRS_V1[name] = marks("_estimator_api_names_v1", "_estimator_api_constants_v1")
