"""Where operations run when several machines train."""

from collections.abc import Callable
from typing import Any

# Files are the chief's: an Estimator lets parameter servers read and write their own variables,
# in a directory that all machines would have to see.
_FILES = ("Save", "SaveSlices", "SaveV2", "Restore", "RestoreSlice", "RestoreV2")
_FILES += ("MergeV2Checkpoints", "ShardedFilename")


def with_files_here(config: Any) -> Any:
    """Return a configuration whose checkpoints are read and written by the process itself."""
    if not config.cluster_spec:
        return config
    from tensorflow_estimator.python.estimator import estimator

    usual: Callable[[Any], str] = estimator._get_replica_device_setter(config)
    here = f"/job:{config.task_type}/task:{config.task_id}/device:CPU:0"

    def place(op: Any) -> str:
        return here if op.type in _FILES else usual(op)

    return config.replace(device_fn=place)
