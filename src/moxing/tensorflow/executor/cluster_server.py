"""The TensorFlow server of this process: one for all its runs, for it cannot be stopped."""

import os
from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.executor.cluster_hosts import Peer, port_is_free
from moxing.tensorflow.executor.cluster_reach import Wait, listening, wait_for

_PROXIES = ("grpc_proxy", "https_proxy", "http_proxy")
_BYPASS = "no_grpc_proxy"  # gRPC reads no_proxy only where this is not there
_HERE = ("localhost", "127.0.0.1")

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
    bypass_proxies(everyone)
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


def bypass_proxies(everyone: Sequence[Peer]) -> None:
    """Let gRPC reach the cluster without the proxy of the environment: manual, pitfall 2-3-1.

    The variables of the proxy stay: scripts read them, and download through it.
    """
    if not any(os.environ.get(name) for name in _PROXIES):
        return
    kept = os.environ.get(_BYPASS) or os.environ.get("no_proxy") or ""
    hosts = [each.strip() for each in kept.split(",") if each.strip()]
    hosts += [*_HERE, *(peer.host for peer in everyone)]
    os.environ[_BYPASS] = ",".join(dict.fromkeys(hosts))


def _copy(config: tf.ConfigProto) -> tf.ConfigProto:
    own = tf.ConfigProto()
    own.CopyFrom(config)
    return own
