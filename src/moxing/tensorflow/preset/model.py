"""``input_fn`` and ``model_fn`` of a preset model, called by ``mox.run`` like a script's."""

import math
import time
from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf

import moxing.tensorflow as mox
from moxing.tensorflow.nets.zoo import NETWORKS
from moxing.tensorflow.preset.arguments import Asked
from moxing.tensorflow.preset.data import Data, Part

_CHANNELS = 3
_AUXILIARY = 0.4  # weight of the auxiliary classifier, from its authors
_TOP = 5
_SMALL = ("cifarnet", "lenet")  # families that crop pictures and never resize them


class Inputs:
    """``input_fn``: batches of pictures and labels, without end."""

    def __init__(self, asked: Asked, data: Data) -> None:
        self._asked = asked
        self._data = data

    def __call__(self, mode: str) -> list[tf.Tensor]:
        training = mode == mox.ModeKeys.TRAIN
        part = self._data.train if training else self._data.evaluate
        assert part is not None
        size = self._asked["batch_size"] if training else eval_batch_size(self._asked, part)
        kind = (
            mox.ImageClassificationTFRecordDataset
            if part.records
            else mox.ImageClassificationRawDataset
        )
        dataset = kind(
            part.metadata,
            batch_size=size,
            shuffle=training,
            drop_remainder=True,
            augmentation_fn=self._augmentation(mode),
            skip_corrupted=self._asked["skip_corrupted"],
            shard=training,
        )
        return dataset.get(["image", "label"])

    def _augmentation(self, mode: str) -> Callable[[Any], Any]:
        name, size = self._asked.name, self._asked.image_size
        augment = mox.get_data_augmentation_fn(name, mode, output_height=size, output_width=size)
        if NETWORKS[name].preprocessing not in _SMALL:
            return augment

        def resized(image: Any) -> Any:
            image = tf.cast(image, tf.float32)
            return augment(tf.image.resize_bilinear(image[tf.newaxis], [size, size])[0])

        return resized


def eval_batch_size(asked: Asked, part: Part) -> int:
    return min(asked.eval_batch_size, part.samples)


class Model:
    """``model_fn``: the network with its loss, its metrics, and the exported model."""

    def __init__(self, asked: Asked, data: Data, begins_from: frozenset[str]) -> None:
        self._asked = asked
        self._data = data
        self._begins_from = begins_from  # names of a checkpoint's variables

    def __call__(self, inputs: Any, mode: str) -> Any:
        if mode == mox.ModeKeys.EXPORT:
            return mox.ModelSpec(export_spec=self._served())
        images, labels = inputs
        logits, end_points = self._network(mode)(images)
        self._check_checkpoint()
        losses = [_cross_entropy(logits, labels)]
        if mode == mox.ModeKeys.TRAIN and end_points.get("AuxLogits") is not None:
            losses.append(_AUXILIARY * _cross_entropy(end_points["AuxLogits"], labels))
        loss = tf.add_n([*losses, *mox.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)])
        metrics = {"loss": loss, **self._metrics(logits, labels)}
        return mox.ModelSpec(loss=loss, log_info=metrics, hooks=self._hooks(mode, metrics))

    def _network(self, mode: str) -> Any:
        size = self._asked.image_size
        return mox.get_model_fn(
            self._asked.name,
            run_mode=mode,
            num_classes=self._data.num_classes,
            weight_decay=self._asked["weight_decay"],
            data_format=self._asked["data_format"],
            batch_norm_fused=True,
            batch_norm_warmup=True,
            image_height=size,
            image_width=size,
        )

    def _metrics(self, logits: Any, labels: Any) -> dict[str, Any]:
        logits = tf.cast(logits, tf.float32)
        right = tf.equal(tf.argmax(logits, 1), labels)
        found = {"accuracy": tf.reduce_mean(tf.cast(right, tf.float32))}
        if self._data.num_classes > _TOP:
            near = tf.cast(tf.nn.in_top_k(logits, labels, _TOP), tf.float32)
            found["top_5"] = tf.reduce_mean(near)
        return found

    def _hooks(self, mode: str, metrics: dict[str, Any]) -> list[Any]:
        asked, part = self._asked, self._data.evaluate
        if asked.evaluates:
            return []
        hooks: list[Any] = []
        if part is not None:
            # The hook converts samples into batches of the training batch size.
            batches = math.ceil(part.samples / eval_batch_size(asked, part))
            common = {
                "monitor_info": metrics,
                "batch_size": asked["batch_size"],
                "samples_in_train": self._data.train.samples,
                "samples_in_eval": batches * asked["batch_size"],
                "evaluate_every_n_epochs": asked["evaluate_every_n_epochs"],
            }
            hooks.append(_watching(asked, common))
        if mode == mox.ModeKeys.TRAIN and "max_training_time" in asked.given:
            hooks.append(TimeLimit(asked["max_training_time"]))
        return hooks

    def _served(self) -> Any:
        """Return the exported model, which resizes pictures of 0..255 and returns classes."""
        images = tf.placeholder(tf.float32, [None, None, None, _CHANNELS], "images")
        logits, _ = self._network(mox.ModeKeys.EXPORT)(images)
        logits = tf.cast(logits, tf.float32)
        best = tf.argmax(logits, 1)
        outputs = {"logits": logits, "probabilities": tf.nn.softmax(logits), "label": best}
        if self._data.labels:
            outputs["label_desc"] = tf.gather(tf.constant(self._data.labels), best)
        return mox.ExportSpec(inputs_dict={"images": images}, outputs_dict=outputs)

    def _check_checkpoint(self) -> None:
        """Raise ValueError if the checkpoint is that of another network.

        Without this check it would be ignored silently.
        """
        here = {variable.op.name for variable in tf.trainable_variables()}
        if self._begins_from and here.isdisjoint(self._begins_from):
            example = min(self._begins_from - {"global_step"}, default="nothing")
            raise ValueError(
                f"The checkpoint {self._asked.checkpoint_url} is not one of {self._asked.name}: it "
                f"has variables such as {example}, and none of {min(here)} and its like."
            )


class TimeLimit(mox.AggregativeSessionRunHook):
    """A hook that ends the training after ``hours``, as the last step would."""

    def __init__(self, hours: float) -> None:
        super().__init__()
        self._end = time.monotonic() + hours * 3600

    def after_run(self, run_context: Any, run_values: Any) -> None:
        if time.monotonic() >= self._end:
            tf.logging.info("The time for training (max_training_time) is over.")
            run_context.request_stop()

    def support_aggregation(self) -> bool:
        return True

    def support_sync_workers(self) -> bool:
        return True

    def run_inter_mode(self) -> bool:
        return False


def _watching(asked: Asked, common: dict[str, Any]) -> Any:
    if asked["patience"] is None:
        return mox.LogEvaluationMetricHook(**common)
    return mox.EarlyStoppingHook(
        monitor=asked["monitor"],
        min_delta=asked["min_delta"],
        patience=asked["patience"],
        **common,
    )


def _cross_entropy(logits: Any, labels: Any) -> Any:
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=labels, logits=tf.cast(logits, tf.float32)
    )
    return tf.reduce_mean(losses)
