"""The program of a preset model, from its data to the exported model."""

import math
import re
from typing import Any

import tensorflow.compat.v1 as tf

import moxing.tensorflow as mox
from moxing.tensorflow.executor.restoring import checkpoints
from moxing.tensorflow.optimizer.learning_rate_scheduler import piecewise_lr
from moxing.tensorflow.preset import data as finding
from moxing.tensorflow.preset.arguments import Asked
from moxing.tensorflow.preset.model import Inputs, Model, eval_batch_size

_STEP = "global_step"
_EXCLUDED = "checkpoint_exclude_patterns"
_BIAS = re.compile(r"/bias(es)?$")


def begin_from(asked: Asked, num_classes: int) -> frozenset[str]:
    """Set the variables to exclude from ``checkpoint_url``; return the names of its variables.

    Training counts its steps from 0, and a classifier for other classes is not restored. If the
    user gives ``checkpoint_exclude_patterns``, only these apply. If ``train_url`` has a checkpoint,
    the training resumes it and the result is empty.

    Raises:
        ValueError: there is no checkpoint.
    """
    place = asked.checkpoint_url
    if not place or (not asked.evaluates and checkpoints(asked.train_url)):
        return frozenset()
    found = checkpoints(place)
    if not found:
        raise ValueError(
            f"There is no checkpoint at --checkpoint_url={place}: give the folder of a training, "
            "or a name such as …/model.ckpt-1000."
        )
    shapes = tf.train.load_checkpoint(found[0]).get_variable_to_shape_map()
    if not asked.evaluates and not mox.get_flag(_EXCLUDED):
        _leave_out(asked.name, found[0], shapes, num_classes)
    return frozenset(shapes)


def _leave_out(name: str, prefix: str, shapes: dict[str, list[int]], num_classes: int) -> None:
    patterns = mox.get_model_meta(name).default_logits_pattern
    ends = [
        shape[-1]
        for variable, shape in shapes.items()
        if _BIAS.search(variable) and any(re.search(p, variable) for p in patterns.split(","))
    ]
    others = sorted({end for end in ends if end != num_classes})
    excluded = _STEP
    if others:
        excluded = f"{_STEP},{patterns}"
        tf.logging.info(
            "%s was trained for %d classes and there are %d: its classifier (%s) begins anew.",
            *(prefix, others[0], num_classes, patterns),
        )
    mox.set_flag(_EXCLUDED, excluded)


def run(asked: Asked) -> None:
    """Train or evaluate a preset model."""
    tf.logging.set_verbosity(tf.logging.INFO)
    data = finding.find(asked)
    known = begin_from(asked, data.num_classes)
    functions = {"input_fn": Inputs(asked, data), "model_fn": Model(asked, data, known)}
    if asked.evaluates:
        _evaluate(asked, data, functions)
    else:
        _train(asked, data, functions)


def _train(asked: Asked, data: finding.Data, functions: dict[str, Any]) -> None:
    together = asked["batch_size"] * _replicas()

    def optimizer_fn() -> Any:
        rate = piecewise_lr(asked["learning_rate_strategy"], data.train.samples, together)
        return mox.get_optimizer_fn(asked["optimizer"], learning_rate=rate)()

    steps_of_epoch = math.ceil(data.train.samples / together)
    mox.run(
        **functions,
        optimizer_fn=optimizer_fn,
        run_mode=mox.ModeKeys.TRAIN,
        inter_mode=mox.ModeKeys.EVAL if data.evaluate else None,
        batch_size=asked["batch_size"],
        auto_batch=False,
        log_dir=asked.train_url,
        checkpoint_path=asked.checkpoint_url or None,
        max_number_of_steps=asked["max_number_of_steps"] or asked["max_epoches"] * steps_of_epoch,
        log_every_n_steps=asked["log_every_n_steps"],
        save_summary_steps=asked["save_summary_steps"],
        save_model_secs=asked["save_model_secs"],
        export_model=mox.ExportKeys.TF_SERVING if asked["export_model"] else False,
    )


def _evaluate(asked: Asked, data: finding.Data, functions: dict[str, Any]) -> None:
    assert data.evaluate is not None
    size = eval_batch_size(asked, data.evaluate)
    mox.run(
        **functions,
        run_mode=mox.ModeKeys.EVAL,
        batch_size=size,
        auto_batch=False,
        log_dir=asked.train_url,
        checkpoint_path=asked.checkpoint_url,
        max_number_of_steps=math.ceil(data.evaluate.samples / size),
        log_every_n_steps=asked["log_every_n_steps"],
        save_summary_steps=asked["save_summary_steps"],
    )


def _replicas() -> int:
    """Return the number of batches that one global step trains on."""
    workers = [host for host in str(mox.get_flag("worker_hosts")).split(",") if host.strip()]
    together = len(workers) if mox.get_flag("sync_replicas") else 1
    return max(1, together) * max(1, int(mox.get_flag("num_gpus") or 1))
