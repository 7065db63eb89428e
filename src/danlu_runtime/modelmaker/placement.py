"""Where operations run when several machines train."""

from collections.abc import Callable
from typing import Any

from danlu_runtime.tf1.cluster_files import placing


def with_files_here(config: Any) -> Any:
    """Return a configuration whose checkpoints are read and written by the process itself.

    Of an Estimator's graph not all file operations are made by a saver.
    """
    if not config.cluster_spec:
        return config
    from tensorflow_estimator.python.estimator import estimator

    usual: Callable[[Any], str] = estimator._get_replica_device_setter(config)
    here = f"/job:{config.task_type}/task:{config.task_id}/device:CPU:0"
    return config.replace(device_fn=placing(here, usual))
