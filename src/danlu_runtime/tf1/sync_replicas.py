"""``SyncReplicasOptimizer``: every worker contributes exactly once to every update.

Its workers take tokens from one queue, which begins with some: a fast worker took those of a slow
one, contributed twice to an update, and the result was not that of one worker with the whole
batch. Here each worker has a queue of its own, and a token in it after every update.

With backup workers, where the slowest is not waited for, all is as it was.
"""

import functools
from collections.abc import Sequence
from typing import Any

from danlu_runtime.tf1 import cluster_files

_LEADING = ("chief", "master")
_NAME = "sync_token_q"


def contribute_once() -> None:
    """Let optimizers made from now on do so."""
    from tensorflow.python.ops import control_flow_ops, data_flow_ops
    from tensorflow.python.training import sync_replicas_optimizer

    made = sync_replicas_optimizer.SyncReplicasOptimizer
    apply, begin_with = made.apply_gradients, made.get_init_tokens_op

    class Tokens(data_flow_ops.FIFOQueue):
        """This worker's queue, and a way to fill and to close those of all."""

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
        """What the optimizer's module finds as ``data_flow_ops`` while gradients are applied."""

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
    """Return which of the workers this process is; None where not everybody is waited for."""
    trainers = _trainers(cluster_files.members)
    if aggregated != total or total != len(trainers) or cluster_files.own not in trainers:
        return None
    return trainers.index(cluster_files.own)


def _trainers(members: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    leading = [member for member in members if member[0] in _LEADING]
    return [*leading, *sorted(member for member in members if member[0] == "worker")]
