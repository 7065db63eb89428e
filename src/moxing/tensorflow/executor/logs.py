"""The log lines of a run, in the format that users search for."""

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.executor.loop import RunCallback, StepState, until
from moxing.tensorflow.executor.model import Model, tensors_of
from moxing.tensorflow.executor.request import get_flag

LOG = "log/"  # prefix of the names of log_info among the values of a step
BATCH = "batch"  # the batch size, if the run does not declare one


def show_steps() -> None:
    """Set the log level so that TensorFlow's lines are shown, once each, as in MoXing.

    A level other than TensorFlow's default was set by the user and is kept.
    """
    logger = logging.getLogger("tensorflow")
    if tf.logging.get_verbosity() == tf.logging.WARN:
        tf.logging.set_verbosity(tf.logging.INFO)
    if logger.handlers:
        logger.propagate = False  # the root logger would repeat each line


def usual_values(model: Model, batch_size: int | None) -> dict[str, Any]:
    """Return the tensors of every step: log_info, and the batch size if it is not declared."""
    first_clone = bool(get_flag("log_first_clone"))
    found = {LOG + name: tensor for name, tensor in model.log_info(first_clone).items()}
    if batch_size is None:
        found[BATCH] = tf.shape(tensors_of(model.inputs[0])[0])[0]
    return found


def logged(values: Mapping[str, Any]) -> dict[str, float]:
    """Return the values of log_info by their names."""
    return {
        name[len(LOG) :]: float(value) for name, value in values.items() if name.startswith(LOG)
    }


def samples_of(values: Mapping[str, Any], declared: int | None) -> int:
    """Return the number of samples of a clone in a step."""
    return declared if declared is not None else int(values.get(BATCH, 1))


def shown(metrics: Mapping[str, float], between: str) -> str:
    return between.join(f"{name}: {value:.3f}" for name, value in metrics.items())


class Speed:
    """Samples per second of all clones since the last line.

    ``batch_size`` is the declared one, or None if each step has its own.
    """

    def __init__(self, batch_size: int | None, replicas: int) -> None:
        self._batch_size = batch_size
        self._replicas = replicas
        self._at = time.perf_counter()
        self._step = -1

    def begin(self, moment: StepState, step: int) -> None:
        self._at, self._step = moment.at, step

    def since(self, moment: StepState) -> float:
        last, since = self._step, self._at
        self._at, self._step = moment.at, moment.step
        samples = samples_of(moment.values, self._batch_size) * self._replicas
        return samples * (moment.step - last) / max(moment.at - since, 1e-9)


class LeftOver(RunCallback):
    """Logs once how many samples at the end of the data do not fill a batch."""

    def __init__(self, samples: Any) -> None:
        self._samples = samples

    def begin(self, moment: StepState) -> None:
        left = int(moment.session.run(self._samples))
        if left > 0:
            tf.logging.info("%d sample(s) at the end of the data fill no batch: left out.", left)


def left_over(samples: Any) -> list[RunCallback]:
    return [] if samples is None else [LeftOver(samples)]


class TrainingLines(RunCallback):
    """Logs ``step: 10(global step: 10)`` every ``every`` steps, the first at step 0."""

    late = True

    def __init__(self, every: int, speed: Speed) -> None:
        self._every = every
        self._speed = speed

    def steps_alone(self, step: int) -> int:
        return until(step, self._every)

    def begin(self, moment: StepState) -> None:
        self._speed.begin(moment, moment.step)

    def after(self, moment: StepState) -> None:
        if moment.step % self._every:
            return
        line = f"step: {moment.step}(global step: {moment.global_step - 1})"
        line += f"\tsample/sec: {self._speed.since(moment):.3f}"
        metrics = shown(logged(moment.values), "\t")
        tf.logging.info("%s", f"{line}\t{metrics}" if metrics else line)


class EvaluationLines(RunCallback):
    """Logs ``step: 49`` after every ``every`` steps, and the means at the end."""

    def __init__(
        self, every: int | None, speed: Speed, batch_size: int | None, clones: int
    ) -> None:
        self._every = every
        self._speed = speed
        self._batch_size = batch_size
        self._clones = clones
        self._samples = 0
        self._steps = 0
        self._sums: dict[str, float] = {}

    @property
    def means(self) -> dict[str, float]:
        return {name: total / self._steps for name, total in self._sums.items()}

    def begin(self, moment: StepState) -> None:
        self._speed.begin(moment, -1)

    def after(self, moment: StepState) -> None:
        metrics = logged(moment.values)
        self._steps += 1
        self._samples += samples_of(moment.values, self._batch_size) * self._clones
        for name, value in metrics.items():
            self._sums[name] = self._sums.get(name, 0.0) + value
        if self._every and (moment.step + 1) % self._every == 0:
            line = f"step: {moment.step}\tsample/sec: {self._speed.since(moment):.3f}"
            text = shown(metrics, "\t")
            tf.logging.info("%s", f"{line}\t{text}" if text else line)

    def end(self, moment: StepState) -> None:
        means = "\t".join(f"{name}: {value!r}" for name, value in self.means.items())
        tf.logging.info("%s", f"{means}\t[{self._samples} examples]")


class StepRate(RunCallback):
    """Logs and writes ``global_step/sec`` every hundred steps, as TensorFlow does."""

    TAG = "global_step/sec"
    late = True

    def __init__(self, write: Callable[[int, dict[str, float]], None], every: int = 100) -> None:
        self._write = write
        self._every = every
        self._at = (time.perf_counter(), 0)

    def steps_alone(self, step: int) -> int:
        return until(step + 1 - self._at[1], self._every)

    def begin(self, moment: StepState) -> None:
        self._at = (moment.at, moment.global_step)

    def after(self, moment: StepState) -> None:
        since, step = self._at
        if moment.global_step - step < self._every:
            return
        rate = (moment.global_step - step) / max(moment.at - since, 1e-9)
        self._at = (moment.at, moment.global_step)
        tf.logging.info("%s: %g", self.TAG, rate)
        self._write(moment.global_step, {self.TAG: rate})
