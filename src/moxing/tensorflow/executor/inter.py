"""Evaluates with the graph of ``inter_mode`` while the run goes on."""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.executor.logs import shown
from moxing.tensorflow.executor.model import Model
from moxing.tensorflow.executor.parts import Moment, Part, until
from moxing.tensorflow.executor.registered import Evaluation, in_evaluations


class Rate:
    """The factor every learning rate is multiplied with: a variable of the checkpoint."""

    NAME = "mox_lr_scale"

    def __init__(self) -> None:
        self.factor = tf.get_variable(
            self.NAME, [], tf.float32, tf.ones_initializer(), trainable=False, use_resource=True
        )
        self._given = tf.placeholder(tf.float32, [], "mox_lr_scale_given")
        self._assign = self.factor.assign(self._given, read_value=False)
        self.rate: Any = None  # the learning rate with the factor, once there is an optimizer

    def change(self, session: Any, by: float, least: float) -> tuple[float, float]:
        """Multiply the rate, not below ``least``; return it before and after."""
        factor = float(session.run(self.factor))
        before = float(session.run(self.rate)) if tf.is_tensor(self.rate) else factor
        now = min(before, max(before * by, least))
        if before:
            session.run(self._assign, {self._given: factor * now / before})
        return before, now


class InterMode(Part):
    """Every evaluation at its own period. ``replicas``: how many batches a step trains on."""

    def __init__(
        self,
        evaluations: Sequence[Evaluation],
        inter: Model,
        replicas: int,
        write: Callable[[int, dict[str, float]], None],
        rate: Rate | None = None,
    ) -> None:
        self._inter = inter
        self._write = write
        self._rate = rate
        self._due = [(each, each.hook.period(replicas)) for each in evaluations]
        self._tensors = [_means(each) for each in evaluations]
        self._hooks = in_evaluations(inter)
        for hook in self._hooks:
            hook.begin()  # while the graph still takes operations
        self._evaluated = False

    def steps_alone(self, step: int) -> int:
        return min(until(step + 1, period) for _, period in self._due)

    def begin(self, moment: Moment) -> None:
        for hook in self._hooks:
            hook.after_create_session(moment.session, tf.train.Coordinator())

    def end(self, moment: Moment) -> None:
        for hook in self._hooks:
            hook.end(moment.session)

    def after(self, moment: Moment) -> None:
        for (evaluation, period), tensors in zip(self._due, self._tensors, strict=True):
            if (moment.step + 1) % period:
                continue
            hook = evaluation.hook
            metrics = self._evaluate(moment.session, tensors, hook.batches(len(evaluation.twins)))
            tf.logging.info("%s", f"{hook.prefix} step: {moment.step} {shown(metrics, ' ')}")
            self._write(moment.global_step, metrics)
            moment.stop |= hook.evaluated(metrics, self._changed(moment.session))

    def _evaluate(self, session: Any, tensors: dict[str, Any], batches: int) -> dict[str, float]:
        sums = dict.fromkeys(tensors, 0.0)
        done = 0
        began_anew = False
        while done < batches:
            try:
                values = self._run(session, tensors)
            except tf.errors.OutOfRangeError:
                if began_anew or not self._inter.initializers:
                    break
                session.run(self._inter.initializers)
                began_anew = True
                continue
            began_anew = False
            done += 1
            for name, value in values.items():
                sums[name] += float(value)
        if not done:
            what = "no more data, and it cannot begin anew," if self._evaluated else "not one batch"
            raise ValueError(
                f"input_fn has {what} in mode {self._inter.mode}: nothing can be evaluated."
            )
        self._evaluated = True
        return {name: total / done for name, total in sums.items()}

    def _run(self, session: Any, tensors: dict[str, Any]) -> dict[str, Any]:
        """Evaluate one batch, with the hooks that the model has in this mode."""
        context = tf.train.SessionRunContext(tf.train.SessionRunArgs(tensors), session)
        asked = [(hook, hook.before_run(context)) for hook in self._hooks]
        feeds: dict[Any, Any] = {}
        fetches: dict[str, Any] = {"of the evaluation": tensors}
        for position, (_, wanted) in enumerate(asked):
            if wanted is not None:
                feeds.update(wanted.feed_dict or {})
                if wanted.fetches is not None:
                    fetches[str(position)] = wanted.fetches
        values = session.run(fetches, feeds)
        for position, (hook, _) in enumerate(asked):
            results = values.get(str(position))
            hook.after_run(context, tf.train.SessionRunValues(results, None, None))
        found: dict[str, Any] = values["of the evaluation"]
        return found

    def _changed(self, session: Any) -> Callable[[float, float], tuple[float, float]]:
        def change(by: float, least: float) -> tuple[float, float]:
            assert self._rate is not None
            return self._rate.change(session, by, least)

        return change


def _means(evaluation: Evaluation) -> dict[str, Any]:
    twins = evaluation.twins
    if len(twins) == 1:
        return dict(twins[0].monitor_info)
    return {
        name: tf.add_n([tf.cast(twin.monitor_info[name], tf.float32) for twin in twins])
        / float(len(twins))
        for name in twins[0].monitor_info
    }
