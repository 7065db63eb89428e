"""Several heads on one body: losses merged, metrics and predictions side by side."""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime.tf1.contrib.learn.estimators.heads import LossOnlyHead
from danlu_runtime.tf1.contrib.learn.estimators.model_fn import ModeKeys, ModelFnOps
from danlu_runtime.tf1.contrib.learn.estimators.single_head import Head


class MultiHead(Head):
    """Predictions are keyed by (head name, key)."""

    def __init__(self, heads: Sequence[Head], loss_merger: Callable[[list[Any]], Any]) -> None:
        if not all(head.head_name for head in heads):
            raise ValueError("Members of MultiHead must have names.")
        self._heads = list(heads)
        self._loss_merger = loss_merger
        self.head_name = None

    @property
    def logits_dimension(self) -> int:
        return sum(head.logits_dimension for head in self._heads)

    def create_model_fn_ops(
        self,
        features: Any,
        mode: str,
        labels: Any = None,
        train_op_fn: Callable[[Any], Any] | None = None,
        logits: Any = None,
        logits_input: Any = None,
        scope: Any = None,
    ) -> ModelFnOps:
        ModeKeys.validate(mode)
        if mode == ModeKeys.TRAIN and train_op_fn is None:
            raise ValueError("train_op_fn can not be None in TRAIN mode.")
        parts = self._parts(logits)
        made = []
        for head, part in zip(self._heads, parts, strict=True):
            given = {"logits": part} if logits is not None else {"logits_input": logits_input}
            made.append(
                head.create_model_fn_ops(
                    features, mode, labels, lambda loss: tf.no_op(), scope=scope, **given
                )
            )
        if mode == ModeKeys.INFER:
            return self._merged_inference(made)
        return self._merged_learning(made, mode, train_op_fn)

    def _parts(self, logits: Any) -> list[Any]:
        if logits is None:
            return [None] * len(self._heads)
        if isinstance(logits, dict):
            return [logits.get(head.head_name) for head in self._heads]
        sizes = [head.logits_dimension for head in self._heads]
        return tf.split(logits, sizes, axis=1)

    def _merged_learning(
        self, made: list[ModelFnOps], mode: str, train_op_fn: Callable[[Any], Any] | None
    ) -> ModelFnOps:
        loss = self._loss_merger([ops.loss for ops in made])
        metrics: dict[str, Any] = {}
        for ops in made:
            metrics |= ops.eval_metric_ops or {}
        train_op = None
        if mode == ModeKeys.TRAIN and train_op_fn is not None:
            train_op = tf.group(train_op_fn(loss), *(ops.train_op for ops in made))
        return ModelFnOps(
            mode=mode,
            predictions=self._predictions(made),
            loss=loss,
            train_op=train_op,
            eval_metric_ops=metrics,
        )

    def _merged_inference(self, made: list[ModelFnOps]) -> ModelFnOps:
        alternatives: dict[Any, Any] = {}
        for head, ops in zip(self._heads, made, strict=True):
            if not isinstance(head, LossOnlyHead):
                alternatives |= ops.output_alternatives
        return ModelFnOps(
            mode=ModeKeys.INFER,
            predictions=self._predictions(made),
            output_alternatives=alternatives,
        )

    def _predictions(self, made: list[ModelFnOps]) -> dict[tuple[str | None, str], Any]:
        return {
            (head.head_name, key): value
            for head, ops in zip(self._heads, made, strict=True)
            for key, value in ops.predictions.items()
        }
