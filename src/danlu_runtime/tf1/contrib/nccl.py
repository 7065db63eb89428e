"""tf.contrib.nccl: sums across GPUs. The operations need GPUs, as they always did."""

from tensorflow.python.ops.nccl_ops import (  # noqa: F401
    all_max,
    all_min,
    all_prod,
    all_sum,
    broadcast,
    reduce_sum,
)
