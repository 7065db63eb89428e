"""tf.contrib.checkpoint: object-based checkpoints, which became public names of tf.train."""

from tensorflow.compat.v1.train import Checkpoint, CheckpointManager  # noqa: F401
from tensorflow.python.trackable.data_structures import List, Mapping, NoDependency  # noqa: F401
