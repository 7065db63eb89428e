"""A small program for mox.run, whose parts a test exchanges."""

import re
from collections.abc import Callable
from typing import Any

import pytest

LINE = re.compile(r"^(INFO|WARNING):tensorflow:")


@pytest.fixture
def mox(tf: Any) -> Any:
    import moxing.tensorflow as mox

    return mox


@pytest.fixture
def log_lines(capfd: Any) -> Callable[[], list[str]]:
    """What TensorFlow's logger has printed since the last call, without its prefix."""

    def lines() -> list[str]:
        found = capfd.readouterr().err.splitlines()
        return [LINE.sub("", line) for line in found if LINE.match(line)]

    return lines


class Program:
    """Fits ``y = 2x + 1`` on numbers from 0 to 1; ``run`` takes what mox.run takes."""

    samples = 64
    epochs: int | None = None

    def __init__(self, mox: Any, tf: Any) -> None:
        self.mox = mox
        self.tf = tf
        self.modes: list[str] = []
        self.inputs: dict[str, Any] = {}
        self.hooks: Callable[..., list[Any]] = lambda **tensors: []
        self.spec: Callable[..., dict[str, Any]] = lambda **tensors: {}

    def input_fn(self, mode: str, **kwargs: Any) -> Any:
        import numpy as np

        x = np.linspace(0, 1, self.samples, dtype="float32")
        data = self.tf.data.Dataset.from_tensor_slices((x, 2 * x + 1)).repeat(self.epochs)
        return data.make_one_shot_iterator().get_next()

    def model_fn(self, inputs: Any, mode: str, **kwargs: Any) -> Any:
        tf = self.tf
        self.modes.append(mode)
        self.inputs[mode] = inputs
        x, y = inputs
        w = tf.get_variable("w", [], x.dtype, initializer=tf.zeros_initializer())
        b = tf.get_variable("b", [], x.dtype, initializer=tf.zeros_initializer())
        guess = w * x + b
        loss = tf.reduce_mean(tf.square(guess - y))
        tensors = {"x": x, "y": y, "guess": guess, "loss": loss, "mode": mode}
        given = {
            "loss": loss,
            "log_info": {"loss": loss},
            "output_info": {"x": x, "guess": guess},
            "export_spec": self.mox.ExportSpec({"x": x}, {"guess": guess}),
            "hooks": self.hooks(**tensors),
        }
        return self.mox.ModelSpec(**{**given, **self.spec(**tensors)})

    def run(self, run_mode: str = "TRAIN", **given: Any) -> Any:
        usual = {
            "input_fn": self.input_fn,
            "model_fn": self.model_fn,
            "optimizer_fn": lambda: self.tf.train.GradientDescentOptimizer(0.3),
            "batch_size": 8,
            "max_number_of_steps": 20,
        }
        return self.mox.run(**{**usual, "run_mode": run_mode, **given})


@pytest.fixture
def program(mox: Any, tf: Any) -> Program:
    return Program(mox, tf)


@pytest.fixture
def flags() -> Any:
    """Set flags of MoXing for one test."""
    from moxing.tensorflow.executor.request import set_flag

    return set_flag
