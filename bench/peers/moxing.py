"""mox.run at its own intervals: a line every 10 steps, summaries every 100. A round is a run."""

import logging
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import moxing.tensorflow as mox
from moxing.tensorflow.executor.loop import Loop
from peers.models import Model

WARM = 100  # steps, before the first time that counts


class Times:
    """Takes the time of every call of the loop, and the steps that are done then.

    Log lines do not show it: those of a call are all written at its end.
    """

    def __init__(self) -> None:
        self.taken: list[tuple[int, float]] = []

    @contextmanager
    def of_calls(self) -> Iterator[None]:
        go_on = Loop._go_on

        def timed(loop: Loop, *given: Any) -> None:
            go_on(loop, *given)
            self.taken.append((loop.steps, time.perf_counter()))

        watched: Any = Loop
        watched._go_on = timed
        try:
            yield
        finally:
            watched._go_on = go_on

    def seconds_a_step(self, warm: int) -> float:
        counted = [each for each in self.taken if each[0] >= warm]
        (first, began), (last, ended) = counted[0], counted[-1]
        return (ended - began) / (last - first)


def run(model: Model, steps: int, *, xla: bool = False) -> float:
    """Return the seconds of a step."""
    warm = min(WARM, steps // 20 * 10)
    times = Times()
    logger = logging.getLogger("tensorflow")
    shown, logger.handlers = logger.handlers, [_lines_to_nowhere()]
    os.environ["DANLU_XLA"] = "1" if xla else "0"
    try:
        with times.of_calls():
            mox.run(
                input_fn=lambda mode: model.data().make_one_shot_iterator().get_next(),
                model_fn=lambda inputs, mode: _spec(model.loss(*inputs)),
                optimizer_fn=mox.get_optimizer_fn("momentum", learning_rate=0.01, momentum=0.9),
                run_mode=mox.ModeKeys.TRAIN,
                batch_size=64,
                auto_batch=False,
                log_dir=tempfile.mkdtemp(prefix="danlu-bench-"),
                max_number_of_steps=warm + steps + 1,
            )
    finally:
        logger.handlers = shown
    return times.seconds_a_step(warm)


def _spec(loss: Any) -> Any:
    return mox.ModelSpec(loss=loss, log_info={"loss": loss})


def _lines_to_nowhere() -> logging.Handler:
    handler = logging.StreamHandler(open(os.devnull, "w"))  # noqa: SIM115
    handler.setFormatter(logging.Formatter(logging.BASIC_FORMAT))
    return handler
