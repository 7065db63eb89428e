"""Patches for training scripts on a cluster: connections, start, checkpoints and exit.

Written for TensorFlow 2.21, where this code is the same as in 1.x.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from danlu_runtime import cluster

_DEFAULT, _OFTEN = 30, 1.0  # seconds


def pass_proxies_by() -> None:
    """Make a server reach the other processes without the proxy of the environment."""
    from tensorflow.python.training import server_lib

    make = server_lib._make_server_def

    @functools.wraps(make)
    def make_reachable(*args: Any, **kwargs: Any) -> Any:
        made = make(*args, **kwargs)
        addresses = [address for job in made.cluster.job for address in job.tasks.values()]
        cluster.bypass(address.rpartition(":")[0] for address in addresses)
        return made

    server_lib._make_server_def = make_reachable


def look_often() -> None:
    """Make a worker check every second whether the chief is ready, instead of every 30 s.

    ``MonitoredTrainingSession`` and ``tf.estimator`` have no option for it.
    """
    from tensorflow.python.training import session_manager

    begin = session_manager.SessionManager.__init__

    @functools.wraps(begin)
    def begin_often(self: Any, *args: Any, **kwargs: Any) -> None:
        begin(self, *args, **kwargs)
        if self._recovery_wait_secs == _DEFAULT:
            self._recovery_wait_secs = _OFTEN

    session_manager.SessionManager.__init__ = begin_often


def end_synchronous_runs() -> None:
    """Make the chief of a ``SyncReplicasOptimizer`` exit when its steps are done.

    One of its threads waits inside TensorFlow for gradients of a step that no worker runs. No stop
    request reaches it there, and the chief waited two minutes for that thread. Now it ends with the
    session. The chief still waits for the thread that releases the other workers.
    """
    from tensorflow.python.training import sync_replicas_optimizer

    hook = sync_replicas_optimizer._SyncReplicasOptimizerHook
    start = hook.after_create_session

    @functools.wraps(start)
    def start_unwaited(self: Any, session: Any, coord: Any) -> None:
        known = set(coord._registered_threads)
        start(self, session, coord)
        for thread in set(coord._registered_threads) - known:
            if not thread.name.endswith("close_on_stop"):
                coord._registered_threads.discard(thread)

    hook.after_create_session = start_unwaited


_FILES = (
    *("Save", "SaveSlices", "SaveV2", "Restore", "RestoreSlice", "RestoreV2"),
    *("MergeV2Checkpoints", "ShardedFilename"),
)

# Job and index of every task of the cluster, and of this one after its server was created.
members: list[tuple[str, int]] = []
own: tuple[str, int] | None = None


def placing(here: str, others: Callable[[Any], str]) -> Callable[[Any], str]:
    """Return a device function: file operations at ``here``, all others as ``others`` returns."""
    return lambda op: here if op.type in _FILES else others(op)


def keep_here() -> None:
    """Make every saver of a cluster process read and write files in that process.

    TensorFlow lets every parameter server read and write its own variables, in a directory that all
    machines must share. On a service each machine has its own directory, and only the files of
    workers are kept. A job without a bucket failed at its first checkpoint. Here the values are
    sent to the chief, which needs one directory of any kind.
    """
    from tensorflow.python.framework import ops
    from tensorflow.python.training import saver, server_lib

    begin = server_lib.Server.__init__
    build = saver.BaseSaverBuilder._build_internal

    @functools.wraps(begin)
    def begin_and_remember(self: Any, *args: Any, **kwargs: Any) -> None:
        global own
        begin(self, *args, **kwargs)
        definition = self.server_def
        members[:] = [(job.name, index) for job in definition.cluster.job for index in job.tasks]
        own = (definition.job_name, definition.task_index)

    @functools.wraps(build)
    def build_here(self: Any, *args: Any, **kwargs: Any) -> Any:
        if own is None or len(members) < 2 or not is_spread():
            return build(self, *args, **kwargs)
        here = "/job:{}/task:{}/device:CPU:0".format(*own)
        with ops.device(placing(here, lambda op: op.device)):
            return build(self, *args, **kwargs)

    def is_spread() -> bool:
        """Return True if variables are placed on the cluster.

        An Estimator's master evaluates alone, in a graph without a cluster.
        """
        kept = ops.get_collection(ops.GraphKeys.GLOBAL_VARIABLES)
        return any("/job:" in (variable.device or "") for variable in kept)

    server_lib.Server.__init__ = begin_and_remember
    saver.BaseSaverBuilder._build_internal = build_here


_LEADING = ("chief", "master")
_NAME = "sync_token_q"


def contribute_once() -> None:
    """Make every worker of a ``SyncReplicasOptimizer`` contribute exactly once to every update.

    The optimizer's workers take tokens from one queue, which has initial tokens. A fast worker
    could take the token of a slow one and contribute twice. The result then differed from that of
    one worker with the whole batch. Here each worker has its own queue and gets a token after every
    update. With backup workers, where the slowest worker is not waited for, nothing is changed.
    """
    from tensorflow.python.ops import control_flow_ops, data_flow_ops
    from tensorflow.python.training import sync_replicas_optimizer

    made = sync_replicas_optimizer.SyncReplicasOptimizer
    apply, begin_with = made.apply_gradients, made.get_init_tokens_op

    class Tokens(data_flow_ops.FIFOQueue):
        """The queue of this worker, with methods that fill and close the queues of all workers."""

        def __init__(self, own: int, count: int, *args: Any, **kwargs: Any) -> None:
            names = [f"{_NAME}_{number}" for number in range(count)]
            super().__init__(*args, **{**kwargs, "name": names[own], "shared_name": names[own]})
            self._all = [
                data_flow_ops.FIFOQueue(*args, **{**kwargs, "name": name, "shared_name": name})
                for name in names
            ]

        def enqueue_many(self, vals: Any, name: str | None = None) -> Any:
            tokens = vals[0]
            each = [queue.enqueue((tokens[n],)) for n, queue in enumerate(self._all)]
            return control_flow_ops.group(*each, name=name)

        def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Any:
            each = [queue.close(cancel_pending_enqueues) for queue in self._all]
            return control_flow_ops.group(*each, name=name)

    class Queues:
        """Replacement of ``data_flow_ops`` in the optimizer while gradients are applied."""

        def __init__(self, own: int, count: int) -> None:
            self.FIFOQueue = functools.partial(Tokens, own, count)

        def __getattr__(self, name: str) -> Any:
            return getattr(data_flow_ops, name)

    @functools.wraps(apply)
    def apply_once(self: Any, *args: Any, **kwargs: Any) -> Any:
        own = _number_among(self._replicas_to_aggregate, self._total_num_replicas)
        if own is None:
            return apply(self, *args, **kwargs)
        sync_replicas_optimizer.data_flow_ops = Queues(own, self._total_num_replicas)
        try:
            return apply(self, *args, **kwargs)
        finally:
            sync_replicas_optimizer.data_flow_ops = data_flow_ops

    @functools.wraps(begin_with)
    def begin_with_none(self: Any, num_tokens: int = -1) -> Any:
        own_queues = isinstance(getattr(self, "_sync_token_queue", None), Tokens)
        return begin_with(self, 0 if own_queues else num_tokens)

    made.apply_gradients, made.get_init_tokens_op = apply_once, begin_with_none


def _number_among(aggregated: int, total: int) -> int | None:
    """Return the index of this worker, None if the optimizer does not wait for all workers."""
    trainers = _trainers(members)
    if aggregated != total or total != len(trainers) or own not in trainers:
        return None
    return trainers.index(own)


def _trainers(members: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    leading = [member for member in members if member[0] in _LEADING]
    return [*leading, *sorted(member for member in members if member[0] == "worker")]
