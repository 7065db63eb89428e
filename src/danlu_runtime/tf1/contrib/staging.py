"""tf.contrib.staging: a buffer between the input and the device."""

from tensorflow.python.ops.data_flow_ops import StagingArea

__all__ = ["StagingArea"]
