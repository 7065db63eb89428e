"""Checkpoints of a training: one at the beginning, one every so often, one at the end."""

import os
import time
from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.executor.checkpoints import NAME
from moxing.tensorflow.executor.diverging import Weights
from moxing.tensorflow.executor.parts import FAR, Moment, Part


class Saving(Part):
    """``steps`` or ``seconds`` between two; with neither, the last one alone.

    ``before`` is called before each: what belongs to steps that are not made again is written.
    """

    def __init__(
        self,
        saver: Any,
        log_dir: str,
        steps: int | None,
        seconds: float | None,
        resumes: bool = False,
        weights: Weights | None = None,
        clock: Callable[[], float] = time.monotonic,
        before: Callable[[], None] = lambda: None,
    ) -> None:
        self._saver = saver
        self._before = before
        self._path = os.path.join(log_dir, NAME)
        self._steps = steps
        self._seconds = seconds
        self._clock = clock
        self._at = clock()
        self._weights = weights
        self._resumes = resumes  # the run begins with a checkpoint of its own
        self._saved = -1  # the global step of the last one

    def steps_alone(self, step: int) -> int:
        return max(1, self._saved + self._steps - step) if self._steps else FAR

    def begin(self, moment: Moment) -> None:
        self._at = self._clock()
        if self._weights is not None:
            self._weights.begin(moment.session)
        if self._resumes:
            self._saved = moment.global_step
        elif self._steps or self._seconds:
            self._save(moment)

    def after(self, moment: Moment) -> None:
        by_steps = self._steps and moment.global_step - self._saved >= self._steps
        by_time = self._seconds and self._clock() - self._at >= self._seconds
        if by_steps or by_time:
            self._save_trained(moment)

    def end(self, moment: Moment) -> None:
        if moment.global_step != self._saved:
            self._save_trained(moment)

    def _save_trained(self, moment: Moment) -> None:
        if self._weights is not None:
            self._weights.check(moment.session, moment.global_step)
        self._save(moment)

    def _save(self, moment: Moment) -> None:
        self._before()
        self._at = self._clock()
        self._saved = moment.global_step
        tf.logging.info("Saving checkpoints for %d into %s.", moment.global_step, self._path)
        self._saver.save(moment.session, self._path, global_step=moment.global_step)
