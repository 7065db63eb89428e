"""The TensorFlow server of this process: one for all its runs, for it cannot be stopped."""

from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime import proxies
from moxing.tensorflow.executor.cluster.hosts import Peer, port_is_free
from moxing.tensorflow.executor.cluster.reach import Wait, listening, wait_for

_servers: dict[Peer, Any] = {}


def start(
    own: Peer, everyone: Sequence[Peer], config: tf.ConfigProto, together: Wait | None = None
) -> str:
    """Start the server, or find it started, and return the target of its sessions.

    ``together``: wait for every process to be there first.

    Raises:
        OSError: its port is taken.
    """
    if own in _servers:
        return str(_servers[own].target)
    proxies.bypass(peer.host for peer in everyone)
    if not port_is_free(own.port):
        raise OSError(
            f"Port {own.port} of {own} is in use: end the process that listens there (an earlier "
            f"run of this task?), or give --{own.job}_hosts another port, in all processes."
        )
    if together is not None:
        with listening(own):
            wait_for([peer for peer in everyone if peer != own], together)
    jobs = {job: [peer.address for peer in everyone if peer.job == job] for job in ("ps", "worker")}
    if own.job == "ps":
        config = _copy(config)
        config.device_count["GPU"] = 0  # it shares its node with a worker, who needs them
    _servers[own] = tf.train.Server(
        tf.train.ClusterSpec(jobs), job_name=own.job, task_index=own.index, config=config
    )
    return str(_servers[own].target)


def _copy(config: tf.ConfigProto) -> tf.ConfigProto:
    own = tf.ConfigProto()
    own.CopyFrom(config)
    return own
