"""Runs that evaluate or predict, and evaluations during a training."""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.datasets.base import shuffled_in
from moxing.tensorflow.executor import restoring
from moxing.tensorflow.executor.export import Export
from moxing.tensorflow.executor.gradients import placement
from moxing.tensorflow.executor.hooks import Evaluation, in_evaluations, joining
from moxing.tensorflow.executor.logs import EvaluationLines, Speed, left_over, shown, usual_values
from moxing.tensorflow.executor.loop import FAR, Loop, RunCallback, StepState, until
from moxing.tensorflow.executor.model import Model, Sharing, build, call
from moxing.tensorflow.executor.request import ModeKeys, Request
from moxing.tensorflow.executor.session import (
    Start,
    configuration,
    new_graph,
    open_session,
    scaffold,
)
from moxing.tensorflow.executor.summaries import Evaluated

_OUTPUT = "output/"


class Outputs(RunCallback):
    """Passes one dict for each step and clone to ``output_fn``.

    The order is (step 0, clone 0), (step 0, clone 1), (step 1, clone 0) and so on. If ``every`` is
    None, all of them are passed once, at the end. Remaining dicts are passed at the end too.
    """

    def __init__(
        self, function: Callable[..., Any], every: int | None, per_clone: list[dict[str, Any]]
    ) -> None:
        self._function = function
        self._every = every or FAR
        self._tensors = {
            f"{_OUTPUT}{clone}/{name}": tensor
            for clone, tensors in enumerate(per_clone)
            for name, tensor in tensors.items()
        }
        self._clones = len(per_clone)
        self._names = list(per_clone[0])
        self._steps = 0
        self._kept: list[dict[str, Any]] = []

    def steps_alone(self, step: int) -> int:
        return 1

    def fetches(self, step: int) -> dict[str, Any]:
        return self._tensors

    def after(self, moment: StepState) -> None:
        self._kept += [
            {name: moment.values[f"{_OUTPUT}{clone}/{name}"] for name in self._names}
            for clone in range(self._clones)
        ]
        self._steps += 1
        if self._steps == self._every:
            self._give()

    def end(self, moment: StepState) -> None:
        if self._kept:
            self._give()

    def _give(self) -> None:
        kept, self._kept, self._steps = self._kept, [], 0
        call(self._function, kept)


def evaluate(request: Request, writes: bool = True) -> dict[str, float]:
    """Run a model with the values of a checkpoint; return the means of its log_info.

    ``writes`` is True in the process that writes the files.

    Raises:
        ValueError: there is no checkpoint.
    """
    if request.inter_mode:
        tf.logging.warning("inter_mode is for run_mode TRAIN: it is left out here.")
    found = restoring.source(request.log_dir, request.checkpoint_path)
    if found is None and not writes:
        tf.logging.info("The checkpoint is where the chief has written it: the chief evaluates.")
        return {}
    if found is None:
        raise ValueError(
            f"run_mode {request.run_mode} needs a checkpoint: there is none in log_dir "
            f"{request.log_dir!r} and none in checkpoint_path {request.checkpoint_path!r}."
        )
    placed = placement()
    with new_graph() as graph:
        model = build(request, request.run_mode, graph, Sharing(), placed)
        _hint_at_shuffling(graph)
        export = Export(request, model.inputs[0], graph) if request.export and writes else None
        usual = usual_values(model, request.batch_size)
        speed = Speed(request.batch_size, placed.clones)
        lines = EvaluationLines(request.log_every, speed, request.batch_size, placed.clones)
        loop = Loop(
            usual,
            [*left_over(model.left_over), *_outputs(request, model), lines],
            request.max_steps,
        )
        start = Start(restoring.Restorer(found, tf.global_variables(), needed=True))
        ready = scaffold(start, model.initializers)
        hooks = [*joining(model, None), loop.hook()]
        with open_session(ready, configuration(placed), hooks) as session:
            if request.max_steps:
                loop.run(session)
    loop.raise_failure()
    if lines.means and writes:
        curve = Evaluated(request.log_dir)
        curve.write(loop.moment.global_step, lines.means)
        curve.end(loop.moment)
    if export is not None:
        assert start.taken is not None
        export.write(start.taken)
    return lines.means


def _hint_at_shuffling(graph: Any) -> None:
    shuffled = shuffled_in(graph)
    if shuffled:
        tf.logging.warning(
            "%s shuffles its data: an evaluation of a part of it gives other numbers each time. "
            "Build it with shuffle=False.",
            ", ".join(shuffled),
        )


def _outputs(request: Request, model: Model) -> list[RunCallback]:
    per_clone = [spec.output_info for spec in model.specs]
    if not per_clone[0]:
        return []
    if request.output_fn is None:
        if request.run_mode == ModeKeys.PREDICT:
            tf.logging.warning("mox.run has no output_fn: the outputs go nowhere.")
            return [Outputs(lambda outputs: None, 1, per_clone)]
        return []
    if not request.output_every and request.run_mode != ModeKeys.PREDICT:
        tf.logging.warning("output_fn is not called: output_every_n_steps is 0.")
        return []
    return [Outputs(request.output_fn, request.output_every, per_clone)]


class Rate:
    """A factor for every learning rate, stored as a variable in the checkpoint."""

    NAME = "mox_lr_scale"

    def __init__(self) -> None:
        self.factor = tf.get_variable(
            self.NAME, [], tf.float32, tf.ones_initializer(), trainable=False, use_resource=True
        )
        self._given = tf.placeholder(tf.float32, [], "mox_lr_scale_given")
        self._assign = self.factor.assign(self._given, read_value=False)
        self.rate: Any = None  # the learning rate with the factor, once there is an optimizer

    def change(self, session: Any, by: float, least: float) -> tuple[float, float]:
        """Multiply the rate by ``by``, not below ``least``; return it before and after."""
        factor = float(session.run(self.factor))
        before = float(session.run(self.rate)) if tf.is_tensor(self.rate) else factor
        now = min(before, max(before * by, least))
        if before:
            session.run(self._assign, {self._given: factor * now / before})
        return before, now


class InterMode(RunCallback):
    """Runs every evaluation at its own period.

    ``replicas`` is the number of batches that one step trains on.
    """

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
            hook.begin()  # before the graph is finalized
        self._evaluated = False

    def steps_alone(self, step: int) -> int:
        return min(until(step + 1, period) for _, period in self._due)

    def begin(self, moment: StepState) -> None:
        for hook in self._hooks:
            hook.after_create_session(moment.session, tf.train.Coordinator())

    def end(self, moment: StepState) -> None:
        for hook in self._hooks:
            hook.end(moment.session)

    def after(self, moment: StepState) -> None:
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
