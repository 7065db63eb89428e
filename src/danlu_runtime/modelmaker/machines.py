"""Several machines: which part this process has in the training, and its share of the data."""

import json
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from danlu.errors import Refused

CHIEF, WORKER, EVALUATOR = "chief", "worker", "evaluator"


@dataclass(frozen=True)
class Part:
    """What TF_CONFIG says of this process. ``trainers``: the chief and the workers."""

    role: str
    index: int
    trainers: int

    @property
    def number(self) -> int:
        """Which of the trainers it is."""
        return self.index + 1 if self.role == WORKER else self.index


def part() -> Part | None:
    """Return the part of this process; None where it trains alone."""
    told = json.loads(os.environ.get("TF_CONFIG") or "{}")
    workers = told.get("cluster", {}).get(WORKER, ())
    if not workers:
        return None
    return Part(told["task"]["type"], told["task"]["index"], 1 + len(workers))


def as_evaluator() -> str:
    """Return the TF_CONFIG of the process that evaluates beside this one."""
    told = json.loads(os.environ["TF_CONFIG"])
    return json.dumps({**told, "task": {"type": EVALUATOR, "index": 0}})


def on_cards(input_fn: Callable[[], Any], cards: int) -> Callable[[], Any]:
    """Return a function for several cards of one process, among which TensorFlow shares batches."""
    return lambda: _dataset(input_fn(), f"{cards} cards")


def share(input_fn: Callable[[], Any], mine: Part) -> Callable[[], Any]:
    """Return a function that gives this machine its batches of the training data.

    All of them shuffle by one seed, another one for each run, so that together they go through
    the data once and it ends for all of them.
    """

    def shared() -> Any:
        with _common_seed():
            found = _dataset(input_fn(), f"{mine.trainers} machines")
        return found.shard(mine.trainers, mine.number).prefetch(1)

    return shared


@contextmanager
def _common_seed() -> Iterator[None]:
    """Give the operations of the data a seed, where the user has set none."""
    import tensorflow as tf

    graph = tf.get_default_graph()
    if graph.seed is None:
        cluster = json.loads(os.environ["TF_CONFIG"])["cluster"]  # its ports are chosen anew
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
    raise Refused(
        f"train_input_fn returned {'a pair (features, labels)' if pair else type(found).__name__}, "
        f"which cannot be shared among {among}.",
        hint="Return a tf.data.Dataset: each of them takes its own batches.",
    )
