"""Training on several machines: the role of this process and its part of the data."""

import json
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from danlu.errors import Refused
from danlu.messages import get_message
from danlu_runtime.tf1.cluster import placing

CHIEF, WORKER, EVALUATOR = "chief", "worker", "evaluator"


@dataclass(frozen=True)
class Part:
    """The role of this process from TF_CONFIG; ``trainers`` counts the chief and the workers."""

    role: str
    index: int
    trainers: int

    @property
    def number(self) -> int:
        """The index among the trainers; the chief is 0."""
        return self.index + 1 if self.role == WORKER else self.index


def part() -> Part | None:
    """Return the role of this process, or None if it trains alone."""
    config = json.loads(os.environ.get("TF_CONFIG") or "{}")
    workers = config.get("cluster", {}).get(WORKER, ())
    if not workers:
        return None
    return Part(config["task"]["type"], config["task"]["index"], 1 + len(workers))


def as_evaluator() -> str:
    """Return the TF_CONFIG of the evaluator process that runs beside this one."""
    config = json.loads(os.environ["TF_CONFIG"])
    return json.dumps({**config, "task": {"type": EVALUATOR, "index": 0}})


def on_cards(input_fn: Callable[[], Any], cards: int) -> Callable[[], Any]:
    """Return an input function for several GPUs of one process; TensorFlow distributes batches."""
    return lambda: _dataset(input_fn(), get_message("modelmaker.gpus", count=cards))


def share(input_fn: Callable[[], Any], mine: Part) -> Callable[[], Any]:
    """Return an input function that gives this machine its part of the training batches.

    All machines shuffle with one seed, which is different for each run. Together they read the data
    once, and it ends for all of them.
    """

    def shared() -> Any:
        with _common_seed():
            found = _dataset(input_fn(), get_message("modelmaker.machines", count=mine.trainers))
        return found.shard(mine.trainers, mine.number).prefetch(1)

    return shared


@contextmanager
def _common_seed() -> Iterator[None]:
    """Set a seed for the data operations if the user has set none."""
    import tensorflow as tf

    graph = tf.get_default_graph()
    if graph.seed is None:
        cluster = json.loads(os.environ["TF_CONFIG"])["cluster"]  # its ports differ in each run
        graph.seed = zlib.crc32(json.dumps(cluster, sort_keys=True).encode())
        yield
        graph.seed = None
    else:
        yield


def _dataset(found: Any, among: str) -> Any:
    import tensorflow as tf

    if isinstance(found, tf.data.Dataset | tf.compat.v2.data.Dataset):
        return found
    pair = isinstance(found, tuple | list) and len(found) == 2
    kind = "(features, labels)" if pair else type(found).__name__
    raise Refused.from_key("modelmaker.not_shareable", kind=kind, among=among)


def with_files_here(config: Any) -> Any:
    """Return a configuration in which this process reads and writes its checkpoints itself.

    Not all file operations of an Estimator's graph are created by a saver.
    """
    if not config.cluster_spec:
        return config
    from tensorflow_estimator.python.estimator import estimator

    usual: Callable[[Any], str] = estimator._get_replica_device_setter(config)
    here = f"/job:{config.task_type}/task:{config.task_id}/device:CPU:0"
    return config.replace(device_fn=placing(here, usual))
