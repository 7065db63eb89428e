"""The best model of all attempts of a job: what it was evaluated to is kept inside its export.

TensorFlow's own BestExporter exports the first evaluation after a restart whatever it is worth,
and then removes the better one of before.
"""

import json
import math
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from danlu_runtime.modelmaker.versions import newest, versions

EVALUATION = "evaluation.json"  # below assets.extra


class BestExporter(tf.estimator.Exporter):  # type: ignore[misc]
    """Exports the model when its loss is smaller than that of the one exported before."""

    def __init__(
        self, name: str, receiver: Callable[[], Any], beside: Mapping[str, str] | None
    ) -> None:
        self._name = name
        self._receiver = receiver
        self._beside = beside or {}

    @property
    def name(self) -> str:
        return self._name

    def export(
        self,
        estimator: Any,
        export_path: str,
        checkpoint_path: str,
        eval_result: Mapping[str, Any],
        is_the_final_export: bool,
    ) -> Any:
        del is_the_final_export
        if not _is_better(float(eval_result["loss"]), _kept_loss(export_path)):
            return None
        with tempfile.TemporaryDirectory(prefix="danlu-") as folder:
            file = os.path.join(folder, EVALUATION)
            with open(file, "w", encoding="utf-8") as told:
                json.dump(_numbers(eval_result), told, indent=1, sort_keys=True)
            made = estimator.export_saved_model(
                export_path,
                self._receiver,
                assets_extra={**self._beside, EVALUATION: file},
                checkpoint_path=checkpoint_path,
            )
        _keep_only(export_path, os.path.basename(os.fsdecode(made)))
        return made


def _is_better(loss: float, kept: float | None) -> bool:
    return kept is None or math.isnan(kept) or loss < kept


def _kept_loss(folder: str) -> float | None:
    """Return the loss of the model exported last; None where there is none, or none is told."""
    file = os.path.join(newest(folder), "assets.extra", EVALUATION)
    if not os.path.isfile(file):
        return None
    with open(file, encoding="utf-8") as told:
        return float(json.load(told)["loss"])


def _numbers(evaluation: Mapping[str, Any]) -> dict[str, float]:
    """Return the metrics that are numbers; others, such as pictures, are in the event files."""
    return {
        name: np.asarray(value).item()
        for name, value in evaluation.items()
        if np.ndim(value) == 0 and np.asarray(value).dtype.kind in "biuf"
    }


def _keep_only(folder: str, version: str) -> None:
    for other in versions(folder):
        if other != version:
            shutil.rmtree(os.path.join(folder, other))
