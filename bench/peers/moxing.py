"""mox.run at its own intervals: a line every 10 steps, summaries every 100. A round is a run."""

import logging
import os
import tempfile
import time
from typing import Any

import moxing.tensorflow as mox
from peers.models import Model

WARM = 100  # steps, before the first time that counts


class Times(logging.Handler):
    """Takes the time of every line about a step."""

    def __init__(self) -> None:
        super().__init__()
        self.taken: dict[int, float] = {}

    def emit(self, record: logging.LogRecord) -> None:
        line = record.getMessage()
        if line.startswith("step: "):
            self.taken[int(line[len("step: ") :].split("(")[0])] = time.perf_counter()

    def seconds_a_step(self, warm: int) -> float:
        counted = [step for step in self.taken if step >= warm]
        return (self.taken[counted[-1]] - self.taken[counted[0]]) / (counted[-1] - counted[0])


def run(model: Model, steps: int, *, xla: bool = False) -> float:
    """Return the seconds of a step."""
    warm = min(WARM, steps // 20 * 10)
    times = Times()
    logger = logging.getLogger("tensorflow")
    shown, logger.handlers = logger.handlers, [times, _lines_to_nowhere()]
    os.environ["DANLU_XLA"] = "1" if xla else "0"
    try:
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
