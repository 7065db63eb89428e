"""``tf.contrib.training``: hyper-parameters, training and evaluation loops, batches by queues."""

import danlu_runtime.tf1.tf_slim_import  # isort: split

import sys
from typing import Any

from tf_slim.training import evaluation
from tf_slim.training.evaluation import *
from tf_slim.training.training import *

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
from danlu_runtime.tf1.estimator import private

# Scripts write both tf.contrib.training.python.training and ….python.training.training.
training = sys.modules[__name__]


def __getattr__(name: str) -> Any:
    """``FeedingQueueRunner`` brings the estimators with it, so it is loaded on use."""
    if name == "FeedingQueueRunner":
        return private("inputs.queues.feeding_queue_runner")._FeedingQueueRunner
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
