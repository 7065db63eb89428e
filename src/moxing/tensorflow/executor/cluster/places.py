"""Where things of a worker are: variables on the servers, all else on the worker itself."""

import itertools
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow.compat.v1 as tf

_VARIABLES = ("Variable", "VariableV2", "VarHandleOp", "AutoReloadVariable")
# Counted for each graph: all workers build the same one, and so find the same places.
_turns: weakref.WeakKeyDictionary[Any, Iterator[int]] = weakref.WeakKeyDictionary()


def placing(worker: int, servers: int, device: str) -> Callable[[Any], str]:
    """Return a device function: variables go round the servers, the rest is this worker's."""
    turn = _turns.setdefault(tf.get_default_graph(), itertools.count())
    own = tf.DeviceSpec.from_string(f"/job:worker/task:{worker}{device}")

    def place(operation: Any) -> str:
        given = tf.DeviceSpec.from_string(operation.device or "")
        if operation.type not in _VARIABLES or given.job not in (None, "ps"):
            return str(own.make_merged_spec(given).to_string())
        task = next(turn) % servers if given.task is None else given.task
        return f"/job:ps/task:{task}/device:CPU:0"

    return place


def keeping_local(worker: int) -> Callable[..., Any]:
    """Return a maker of variables that keeps on the worker what is its own.

    Sums of metrics, for one, would be mixed on a server.
    """

    def make_there(make: Callable[..., Any], **wanted: Any) -> Any:
        if tf.GraphKeys.LOCAL_VARIABLES not in (wanted.get("collections") or ()):
            return make(**wanted)
        with tf.device(f"/job:worker/task:{worker}/device:CPU:0"):
            return make(**wanted)

    return make_there
