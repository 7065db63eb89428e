"""What TensorBoard draws: log_info under its own names, the rate, and the model's summaries."""

import itertools
import os
import time
from collections.abc import Callable, Mapping
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.executor.logs import logged
from moxing.tensorflow.executor.parts import Moment, Part, until

MERGED = "summary"
_made = itertools.count()
RATE = "learning_rate"
_SECONDS = 1.0  # who looks at curves sees points this late at most
_SHARE = 20  # of its time a run is not waiting for a file: one in an object store is written anew


class Writer(Part):
    """Event files of one directory.

    What is added is in the file a moment later, and before a checkpoint of the same step: a run
    of many short steps does not wait for every point.
    """

    def __init__(
        self,
        directory: str,
        graph: Any = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._due = clock()
        self._is_shown = False
        # Files of one second and one host have one name: the second would replace the first.
        self._writer = tf.summary.FileWriter(
            directory, graph, filename_suffix=f".{os.getpid()}.{next(_made)}"
        )

    def numbers(self, step: int, values: Mapping[str, float]) -> None:
        value = [tf.Summary.Value(tag=name, simple_value=number) for name, number in values.items()]
        self.add(tf.Summary(value=value), step)

    def add(self, summary: Any, step: int) -> None:
        self._writer.add_summary(summary, step)
        self._is_shown = False

    def after(self, moment: Moment) -> None:
        if not self._is_shown and self._clock() >= self._due:
            self.show()

    def show(self) -> None:
        """Wait until all that was added is in the file."""
        if self._is_shown:
            return
        began = self._clock()
        self._writer.flush()
        self._is_shown = True
        ended = self._clock()
        self._due = ended + max(_SECONDS, _SHARE * (ended - began))

    def broken(self) -> None:
        self.show()

    def end(self, moment: Moment) -> None:
        self.close()

    def close(self) -> None:
        self._writer.close()


class Evaluated(Part):
    """The curve of evaluations: a run of its own in TensorBoard."""

    def __init__(self, log_dir: str | None) -> None:
        self._log_dir = log_dir
        self._writer: Writer | None = None

    def write(self, step: int, metrics: Mapping[str, float]) -> None:
        if self._log_dir is None:
            return
        if self._writer is None:
            self._writer = Writer(f"{self._log_dir.rstrip('/')}/eval")
        self._writer.numbers(step, metrics)
        self._writer.show()

    def end(self, moment: Moment) -> None:
        if self._writer is not None:
            self._writer.close()


class Summaries(Part):
    """Every so many steps, the first at step 0.

    With ``merged``, summaries of the model's own, such a step is run by itself. ``rate`` is a
    number, or among the usual values by the name RATE.
    """

    def __init__(self, every: int, writer: Writer, merged: Any, rate: float | None) -> None:
        self._every = every
        self._writer = writer
        self._merged = merged
        self._rate = rate
        self.late = merged is None

    def steps_alone(self, step: int) -> int:
        if self._merged is None:
            return until(step, self._every)
        return max(1, (-step) % self._every)

    def fetches(self, step: int) -> dict[str, Any]:
        return {} if self._merged is None or step % self._every else {MERGED: self._merged}

    def after(self, moment: Moment) -> None:
        if moment.step % self._every:
            return
        summary = tf.Summary()
        if MERGED in moment.values:
            summary.ParseFromString(moment.values[MERGED])
        drawn = {value.tag for value in summary.value}
        numbers = {**logged(moment.values), **self._rate_of(moment.values)}
        for name, number in numbers.items():
            if name not in drawn:
                summary.value.add(tag=name, simple_value=number)
        self._writer.add(summary, moment.global_step - 1)

    def _rate_of(self, values: Mapping[str, Any]) -> dict[str, float]:
        rate = values.get(RATE, self._rate)
        return {} if rate is None else {RATE: float(rate)}
