"""``tf.contrib.training``: hyper-parameters, training and evaluation loops, batches by queues."""

# ruff: noqa: F401  the names are what this module is for

import danlu_runtime.tf1.tf_slim_import  # isort: split

import sys
from typing import Any

from tf_slim.training.evaluation import (
    StopAfterNEvalsHook,
    SummaryAtEndHook,
    checkpoints_iterator,
    evaluate_once,
    evaluate_repeatedly,
    get_or_create_eval_step,
    wait_for_new_checkpoint,
)
from tf_slim.training.training import (
    add_gradients_summaries,
    clip_gradient_norms,
    clip_gradient_norms_fn,
    create_train_op,
    multiply_gradients,
    train,
)

from danlu_runtime.tf1.contrib.training import evaluation
from danlu_runtime.tf1.contrib.training.bucket_ops import bucket, bucket_by_sequence_length
from danlu_runtime.tf1.contrib.training.device_setter import (
    GreedyLoadBalancingStrategy,
    RandomStrategy,
    byte_size_load_fn,
)
from danlu_runtime.tf1.contrib.training.hparam import HParamDef, HParams, parse_values
from danlu_runtime.tf1.contrib.training.resample import resample_at_rate, weighted_resample
from danlu_runtime.tf1.contrib.training.sampling_ops import rejection_sample, stratified_sample
from danlu_runtime.tf1.contrib.training.sequence_queueing_state_saver import (
    NextQueuedSequenceBatch,
    SequenceQueueingStateSaver,
    batch_sequences_with_states,
)
from danlu_runtime.tf1.contrib.training.tuner import Tuner

# Scripts write both tf.contrib.training.python.training and ….python.training.training.
training = sys.modules[__name__]


def __getattr__(name: str) -> Any:
    """``FeedingQueueRunner`` brings the estimators with it, so it is loaded on use."""
    if name == "FeedingQueueRunner":
        from danlu_runtime.tf1.contrib.training.feeding_queue_runner import FeedingQueueRunner

        return FeedingQueueRunner
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
