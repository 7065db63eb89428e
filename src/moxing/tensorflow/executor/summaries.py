"""Event files for TensorBoard, and the detection of losses and variables that are not finite.

The event files have log_info under its own names, the learning rate and the model's summaries.
"""

import itertools
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.tensorflow.executor.logs import LOG, logged
from moxing.tensorflow.executor.loop import RunCallback, StepState, until
from moxing.tensorflow.executor.model import Model

MERGED = "summary"
_made = itertools.count()
RATE = "learning_rate"
_SECONDS = 1.0  # minimum time between two writes of the file
_SHARE = 20  # a run spends 1/20 on writes at most: a store rewrites the file each time


class Writer(RunCallback):
    """The event file of one directory.

    Added points are in the file a moment later, and before a checkpoint of the same step. A run of
    many short steps does not wait for every point.
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
        # Files of the same second and host have the same name; one would replace the other.
        self._writer = tf.summary.FileWriter(
            directory, graph, filename_suffix=f".{os.getpid()}.{next(_made)}"
        )

    def numbers(self, step: int, values: Mapping[str, float]) -> None:
        value = [tf.Summary.Value(tag=name, simple_value=number) for name, number in values.items()]
        self.add(tf.Summary(value=value), step)

    def add(self, summary: Any, step: int) -> None:
        self._writer.add_summary(summary, step)
        self._is_shown = False

    def after(self, moment: StepState) -> None:
        if not self._is_shown and self._clock() >= self._due:
            self.show()

    def show(self) -> None:
        """Write all that was added to the file and wait for it."""
        if self._is_shown:
            return
        began = self._clock()
        self._writer.flush()
        self._is_shown = True
        ended = self._clock()
        self._due = ended + max(_SECONDS, _SHARE * (ended - began))

    def broken(self) -> None:
        self.show()

    def end(self, moment: StepState) -> None:
        self.close()

    def close(self) -> None:
        """Write all that was added and close the file; a later ``show`` has nothing to write.

        The last checkpoint is saved after this, and calls ``show`` first.
        """
        self._writer.close()
        self._is_shown = True


class Evaluated(RunCallback):
    """Writes the metrics of evaluations, as a separate run in TensorBoard."""

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

    def end(self, moment: StepState) -> None:
        if self._writer is not None:
            self._writer.close()


class Summaries(RunCallback):
    """Writes summaries every ``every`` steps, the first at step 0.

    With ``merged``, the summaries of the model itself, such a step runs alone. ``rate`` is a
    number; otherwise the rate is among the usual values under the name RATE.
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

    def after(self, moment: StepState) -> None:
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


_LOSS = "loss/"  # prefix of losses that are not printed, among the values of a step
_TRY = (
    "Try a smaller learning rate or --gradient_clip_type=norm --gradient_clip=5, and keep tf.log "
    "and divisions from 0."
)
_KEPT = "What was saved before is kept: a run with the same log_dir goes on from there."


class Diverged(tf.train.NanLossDuringTrainingError):
    """The exception of the estimator's NanTensorHook, with a message of its own.

    ``kept`` is True if this run, or the run that it resumes, has saved checkpoints.
    """

    def __init__(self, sentence: str, kept: bool) -> None:
        super().__init__(sentence)
        self._sentence = " ".join([sentence, _TRY, *([_KEPT] if kept else [])])

    def __str__(self) -> str:
        return self._sentence


def watched(model: Model, usual: dict[str, Any], first_clone: bool) -> dict[str, str]:
    """Return the key of each loss among the usual values, with its name; add missing ones.

    For several clones it is the mean, which is NaN if one of them is.
    """
    found = {}
    several = len(model.first.losses) > 1
    for position in range(len(model.first.losses)):
        per_clone = [spec.losses[position] for spec in model.specs]
        printed = _printed(model, per_clone, usual, first_clone)
        if printed is None:
            key = f"{_LOSS}{position}"
            usual[key] = _one_number(per_clone)
            found[key] = f"loss[{position}]" if several else "loss"
        else:
            found[LOG + printed] = printed
    return found


def _printed(
    model: Model, per_clone: Sequence[Any], usual: Mapping[str, Any], first_clone: bool
) -> str | None:
    """Return the name in log_info that shows the losses of all clones, or None."""
    if first_clone and len(per_clone) > 1:
        return None
    for name in model.first.log_info:
        shown = [spec.log_info.get(name) for spec in model.specs]
        if LOG + name in usual and all(a is b for a, b in zip(shown, per_clone, strict=True)):
            return name
    return None


def _one_number(per_clone: Sequence[Any]) -> Any:
    if len(per_clone) == 1 and per_clone[0].shape.rank == 0:
        return per_clone[0]
    return tf.add_n([tf.reduce_mean(each) for each in per_clone]) / len(per_clone)


class Losses(RunCallback):
    """Checks the losses of every step that a call reports; ``names`` are those of ``watched``.

    A call of many steps that does not keep their values reports only its last step. NaN ends the
    run. An infinite loss is logged once, because the variables may be sound. The next step shows
    that.
    """

    def __init__(self, names: Mapping[str, str], usual: Sequence[str], saver: Any) -> None:
        self._names = names
        self._saver = saver
        self._columns = [list(usual).index(key) for key in names]
        self._seen = -1  # the last step that was looked at
        self._logged = False

    def begin(self, moment: StepState) -> None:
        self._seen = moment.step

    def after(self, moment: StepState) -> None:
        self._seen = moment.step
        rows = moment.rows
        if rows is None:
            losses = np.array([[float(moment.values[key]) for key in self._names]])
        else:
            losses = rows[:, self._columns]
        if not np.isfinite(losses).all():
            self._report(losses, moment.step - len(losses) + 1)

    def end(self, moment: StepState) -> None:
        if moment.step != self._seen:  # the data has ended within a call
            self.after(moment)

    def _report(self, losses: Any, first: int) -> None:
        names = list(self._names.values())
        for position, column in np.argwhere(np.isnan(losses)):
            raise Diverged(
                f"The loss '{names[column]}' became NaN at step {first + position}.",
                kept=bool(self._saver.last_checkpoints),
            )
        position, column = np.argwhere(np.isinf(losses))[0]
        if not self._logged:
            self._logged = True
            tf.logging.warning(
                "The loss '%s' is infinite at step %d.", names[column], first + position
            )


class Weights:
    """Checks that the trained variables are finite before they are saved."""

    def __init__(self, variables: Sequence[Any], saver: Any) -> None:
        self._saver = saver
        self._variables = [each for each in variables if each.dtype.is_floating]
        self._finite = [_is_finite(each) for each in self._variables]
        self._at_first: list[bool] = []

    def begin(self, session: Any) -> None:
        """Record the variables that are not finite at the start; they are intended."""
        self._at_first = session.run(self._finite)

    def check(self, session: Any, global_step: int) -> None:
        """Raise Diverged if a variable is no longer finite because of the training."""
        finite = session.run(self._finite)
        spoiled = [
            variable.op.name
            for variable, now, before in zip(self._variables, finite, self._at_first, strict=True)
            if before and not now
        ]
        if spoiled:
            more = f" and {len(spoiled) - 1} more" if len(spoiled) > 1 else ""
            raise Diverged(
                f"The values of '{spoiled[0]}'{more} became NaN or infinite before step "
                f"{global_step}: they are not saved.",
                kept=bool(self._saver.last_checkpoints),
            )


def _is_finite(variable: Any) -> Any:
    with tf.device(variable.device):
        return tf.reduce_all(tf.is_finite(variable))
