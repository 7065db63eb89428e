"""`tf.contrib.distribute`: strategies with the arguments of 1.11 to 1.15.

On a machine with fewer GPUs than a script asks for, those there are taken, or the CPU; a note in
the translation report says so.
"""

import collections
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.distribute import cross_device_ops as _cross
from tensorflow.python.distribute import distribute_lib

from danlu.messages import get_message
from danlu_runtime.reports import notes

__all__ = [
    "AllReduceCrossDeviceOps",
    "CollectiveAllReduceStrategy",
    "CrossDeviceOps",
    "DistributeConfig",
    "DistributionStrategy",
    "MirroredStrategy",
    "OneDeviceStrategy",
    "ParameterServerStrategy",
    "ReductionToOneDeviceCrossDeviceOps",
    "UpdateContext",
    "get_cross_replica_context",
    "get_distribution_strategy",
    "get_loss_reduction",
    "get_replica_context",
    "get_strategy",
    "has_distribution_strategy",
    "has_strategy",
    "in_cross_replica_context",
    "require_replica_context",
]

CPU = "/device:CPU:0"

DistributeConfig = collections.namedtuple(
    "DistributeConfig",
    ["train_distribute", "eval_distribute", "remote_cluster"],
    defaults=[None, None, None],
)

CrossDeviceOps = _cross.CrossDeviceOps
DistributionStrategy = tf.distribute.Strategy
ReductionToOneDeviceCrossDeviceOps = _cross.ReductionToOneDevice
UpdateContext = distribute_lib.UpdateContext
get_cross_replica_context = distribute_lib.get_cross_replica_context
get_loss_reduction = tf.distribute.get_loss_reduction
get_replica_context = tf.distribute.get_replica_context
get_strategy = get_distribution_strategy = tf.distribute.get_strategy
has_strategy = has_distribution_strategy = tf.distribute.has_strategy
in_cross_replica_context = tf.distribute.in_cross_replica_context
require_replica_context = distribute_lib.require_replica_context

GONE = {
    "TPUStrategy": "removed.tpu_strategy",
    "initialize_tpu_system": "removed.tpu_system",
    "Monitor": "removed.standard_step",
    "StandardInputStep": "removed.standard_step",
    "StandardSingleLossStep": "removed.standard_step",
    "run_standard_tensorflow_server": "removed.standard_server",
    "estimator_training": "tf.estimator.train_and_evaluate",
}


class AllReduceCrossDeviceOps(_cross.AllReduceCrossDeviceOps):
    """All-reduce of gradients; `agg_small_grads_*` have no counterpart and change no value."""

    def __init__(
        self,
        all_reduce_alg: str = "nccl",
        num_packs: int = 1,
        agg_small_grads_max_bytes: int = 0,
        agg_small_grads_max_group: int = 10,
    ) -> None:
        super().__init__(all_reduce_alg, num_packs)


class MirroredStrategy(tf.distribute.MirroredStrategy):
    """Copies of the variables on each device; gradients are averaged."""

    def __init__(
        self,
        devices: Any = None,
        num_gpus: int | None = None,
        num_gpus_per_worker: int | None = None,
        cross_device_ops: Any = None,
        auto_shard_dataset: bool = False,
        cross_tower_ops: Any = None,
    ) -> None:
        wanted = num_gpus if num_gpus is not None else num_gpus_per_worker
        if devices is None and wanted is not None:
            devices = _gpus(wanted)
        super().__init__(devices, cross_device_ops or cross_tower_ops)


class OneDeviceStrategy(tf.distribute.OneDeviceStrategy):
    """Everything on one device."""

    def __init__(self, device: str, num_gpus_per_worker: int | None = None) -> None:
        super().__init__(device)


class ParameterServerStrategy(tf.distribute.experimental.ParameterServerStrategy):
    """Variables on the parameter servers of TF_CONFIG's cluster."""

    def __init__(self, num_gpus_per_worker: int = 0) -> None:
        super().__init__()


class CollectiveAllReduceStrategy(tf.distribute.experimental.MultiWorkerMirroredStrategy):
    """Copies of the variables on each worker of TF_CONFIG's cluster."""

    def __init__(self, num_gpus_per_worker: int = 0) -> None:
        super().__init__()


def _gpus(wanted: int) -> list[str]:
    there = len(tf.config.list_logical_devices("GPU"))
    if wanted > there:
        notes.note(
            "repaired",
            get_message("tf1.fewer_gpus", wanted=wanted, there=there),
            *notes.caller(),
        )
    taken = min(wanted, there)
    return [f"/device:GPU:{index}" for index in range(taken)] or [CPU]
