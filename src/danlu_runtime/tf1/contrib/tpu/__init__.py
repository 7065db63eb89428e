"""`tf.contrib.tpu`: what scripts for TPUs run on CPUs and GPUs with `use_tpu=False`."""

from tensorflow.python.tpu import bfloat16
from tensorflow.python.tpu.bfloat16 import bfloat16_scope

from danlu_runtime.tf1.contrib.tpu import async_checkpoint, tpu_optimizer
from danlu_runtime.tf1.contrib.tpu.async_checkpoint import AsyncCheckpointSaverHook
from danlu_runtime.tf1.contrib.tpu.tpu_estimator import TPUEstimator, TPUEstimatorSpec
from danlu_runtime.tf1.contrib.tpu.tpu_optimizer import CrossShardOptimizer
from danlu_runtime.tf1.estimator import private

tpu_config = private("tpu.tpu_config")
InputPipelineConfig = tpu_config.InputPipelineConfig
RunConfig = tpu_config.RunConfig
TPUConfig = tpu_config.TPUConfig

_NO_TPU = "removed.use_tpu"
GONE = {
    name: _NO_TPU
    for name in (
        "TPUDistributionStrategy",
        "TPUInfeedOutfeedSessionHook",
        "batch_parallel",
        "cross_replica_sum",
        "initialize_system",
        "infeed_dequeue",
        "infeed_enqueue",
        "keras_to_tpu_model",
        "outfeed_dequeue",
        "outfeed_enqueue",
        "replicate",
        "rewrite",
        "shard",
        "shutdown_system",
        "while_loop",
        "repeat",
    )
}
