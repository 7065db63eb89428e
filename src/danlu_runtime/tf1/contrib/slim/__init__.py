"""``tf.contrib.slim``: tf-slim 1.1 under its old name, with the names it had of its neighbours."""

import danlu_runtime.tf1.tf_slim_import  # isort: split

from danlu_runtime.tf1.contrib import metrics
from danlu_runtime.tf1.contrib.framework._variables import assign_from_checkpoint, zero_initializer
from danlu_runtime.tf1.contrib.layers import *  # isort: split

from tf_slim import evaluation, learning, model_analyzer, queues, summaries
from tf_slim.data import (
    data_decoder,
    data_provider,
    dataset,
    dataset_data_provider,
    parallel_reader,
    prefetch_queue,
    tfexample_decoder,
)
from tf_slim.ops.arg_scope import *
from tf_slim.ops.variables import *
