"""The smallest models that train, for loops that are watched."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any


def watch(monkeypatch: Any, limit: int | None = None, box: Path | None = None) -> None:
    """Begin what a task's process begins when it imports TensorFlow."""
    from danlu_runtime import steps

    if limit is not None:
        monkeypatch.setenv("DANLU_MAX_STEPS", str(limit))
    if box is not None:
        monkeypatch.setenv("DANLU_BOX", str(box))
    steps.install()


def total() -> int:
    """Return how many steps were counted."""
    from danlu_runtime.steps.session_monitor import current

    watching = current()
    assert watching is not None
    return watching.counter.total


def reported_steps(box: Path) -> dict[str, Any]:
    return json.loads((box / "progress.json").read_text())


def model(tf: Any, global_step: Any = None, scope: str = "model") -> SimpleNamespace:
    """Return a weight that falls by one with every step: its value shows how many ran."""
    with tf.variable_scope(scope):
        weight = tf.get_variable("weight", initializer=0.0)
        loss = weight * 1.0
        train = tf.train.GradientDescentOptimizer(1.0).minimize(loss, global_step=global_step)
    return SimpleNamespace(weight=weight, loss=loss, train=train)
