"""Ends a training that has lost its numbers, before a checkpoint of them replaces a good one."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.tensorflow.executor.logs import LOG
from moxing.tensorflow.executor.model import Model
from moxing.tensorflow.executor.parts import Moment, Part

_LOSS = "loss/"  # before the numbers of losses that are not printed, among the values of a step
_TRY = (
    "Try a smaller learning rate or --gradient_clip_type=norm --gradient_clip=5, and keep tf.log "
    "and divisions from 0."
)
_KEPT = "What was saved before is kept: a run with the same log_dir goes on from there."


class Diverged(tf.train.NanLossDuringTrainingError):
    """What the estimator's NanTensorHook raises, with a sentence of its own.

    ``kept``: this run, or one it goes on from, has saved checkpoints.
    """

    def __init__(self, sentence: str, kept: bool) -> None:
        super().__init__(sentence)
        self._sentence = " ".join([sentence, _TRY, *([_KEPT] if kept else [])])

    def __str__(self) -> str:
        return self._sentence


def watched(model: Model, usual: dict[str, Any], first_clone: bool) -> dict[str, str]:
    """Return by which of the usual values each loss is known, and its name; add what is missing.

    Of several clones it is the mean, which is NaN where one of them is.
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
    """Return the name in log_info that shows the losses of all clones."""
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


class Losses(Part):
    """Looks at the losses of every step that a call tells of; ``names`` are those of ``watched``.

    A call of many steps that keeps no values of each tells of its last one. NaN ends the run;
    a loss that is infinite is told once: the values may be sound, and the next step tells.
    """

    def __init__(self, names: Mapping[str, str], usual: Sequence[str], saver: Any) -> None:
        self._names = names
        self._saver = saver
        self._columns = [list(usual).index(key) for key in names]
        self._seen = -1  # the last step that was looked at
        self._told = False

    def begin(self, moment: Moment) -> None:
        self._seen = moment.step

    def after(self, moment: Moment) -> None:
        self._seen = moment.step
        rows = moment.rows
        if rows is None:
            losses = np.array([[float(moment.values[key]) for key in self._names]])
        else:
            losses = rows[:, self._columns]
        if not np.isfinite(losses).all():
            self._tell(losses, moment.step - len(losses) + 1)

    def end(self, moment: Moment) -> None:
        if moment.step != self._seen:  # the data has ended within a call
            self.after(moment)

    def _tell(self, losses: Any, first: int) -> None:
        names = list(self._names.values())
        for position, column in np.argwhere(np.isnan(losses)):
            raise Diverged(
                f"The loss '{names[column]}' became NaN at step {first + position}.",
                kept=bool(self._saver.last_checkpoints),
            )
        position, column = np.argwhere(np.isinf(losses))[0]
        if not self._told:
            self._told = True
            tf.logging.warning(
                "The loss '%s' is infinite at step %d.", names[column], first + position
            )


class Weights:
    """Tells before they are saved whether what is trained is still made of numbers."""

    def __init__(self, variables: Sequence[Any], saver: Any) -> None:
        self._saver = saver
        self._variables = [each for each in variables if each.dtype.is_floating]
        self._finite = [_is_finite(each) for each in self._variables]
        self._at_first: list[bool] = []

    def begin(self, session: Any) -> None:
        """Take note of what was not finite when the run began: it is meant so."""
        self._at_first = session.run(self._finite)

    def check(self, session: Any, global_step: int) -> None:
        """Raise Diverged where the training has spoiled a variable."""
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
