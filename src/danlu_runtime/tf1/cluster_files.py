"""Files of a cluster: checkpoints are read and written by the process whose session asks for it.

TensorFlow lets every parameter server read and write its own variables, in a directory that all
machines would have to see. On a service each machine has its own, and only what workers write is
kept; so it was a bucket, or the job failed at its first checkpoint. Values travel to the chief
instead, which has one directory, of whatever kind.
"""

import functools
from collections.abc import Callable
from typing import Any

_FILES = ("Save", "SaveSlices", "SaveV2", "Restore", "RestoreSlice", "RestoreV2")
_FILES += ("MergeV2Checkpoints", "ShardedFilename")

# The job and index of every task of the cluster, and of this one, once it has a server.
members: list[tuple[str, int]] = []
own: tuple[str, int] | None = None


def placing(here: str, others: Callable[[Any], str]) -> Callable[[Any], str]:
    """Return a device function: files at ``here``, everything else where ``others`` says."""
    return lambda op: here if op.type in _FILES else others(op)


def keep_here() -> None:
    """Let every saver of a process that is part of a cluster do so."""
    from tensorflow.python.framework import ops
    from tensorflow.python.training import saver, server_lib

    begin = server_lib.Server.__init__
    build = saver.BaseSaverBuilder._build_internal

    @functools.wraps(begin)
    def begin_and_remember(self: Any, *args: Any, **kwargs: Any) -> None:
        global own
        begin(self, *args, **kwargs)
        told = self.server_def
        members[:] = [(job.name, index) for job in told.cluster.job for index in job.tasks]
        own = (told.job_name, told.task_index)

    @functools.wraps(build)
    def build_here(self: Any, *args: Any, **kwargs: Any) -> Any:
        if own is None or len(members) < 2 or not is_spread():
            return build(self, *args, **kwargs)
        here = "/job:{}/task:{}/device:CPU:0".format(*own)
        with ops.device(placing(here, lambda op: op.device)):
            return build(self, *args, **kwargs)

    def is_spread() -> bool:
        """An Estimator's master evaluates alone, in a graph that knows of no cluster."""
        kept = ops.get_collection(ops.GraphKeys.GLOBAL_VARIABLES)
        return any("/job:" in (variable.device or "") for variable in kept)

    server_lib.Server.__init__ = begin_and_remember
    saver.BaseSaverBuilder._build_internal = build_here
