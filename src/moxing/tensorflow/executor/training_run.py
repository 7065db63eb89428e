"""A run that trains: it builds the graph, runs the steps, saves checkpoints and exports."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import tensorflow.compat.v1 as tf

from danlu.errors import Unsupported
from danlu_runtime.fused import Fused, refusals, why_not
from danlu_runtime.fused.step_values import can_be_kept
from danlu_runtime.steps.ends import aim
from moxing.tensorflow.datasets.labels import write_labels
from moxing.tensorflow.executor import restoring
from moxing.tensorflow.executor.cluster.cluster import Cluster
from moxing.tensorflow.executor.evaluating import InterMode, Outputs, Rate
from moxing.tensorflow.executor.export import Export
from moxing.tensorflow.executor.gradients import optimizers, placement, train_op
from moxing.tensorflow.executor.hooks import (
    AggregativeSessionRunHook,
    PlateauLREarlyStoppingHook,
    evaluations,
    joining,
)
from moxing.tensorflow.executor.logs import (
    Speed,
    StepRate,
    TrainingLines,
    left_over,
    usual_values,
)
from moxing.tensorflow.executor.loop import FAR, STEP, Loop, RunCallback, StepState
from moxing.tensorflow.executor.model import Model, Sharing, build
from moxing.tensorflow.executor.request import ModeKeys, Request, get_flag
from moxing.tensorflow.executor.restoring import NAME
from moxing.tensorflow.executor.session import (
    Start,
    configuration,
    new_graph,
    open_session,
    scaffold,
)
from moxing.tensorflow.executor.summaries import (
    RATE,
    Evaluated,
    Losses,
    Summaries,
    Weights,
    Writer,
    watched,
)
from moxing.tensorflow.optimizer.learning_rate_scheduler import (
    learning_rate_of,
    scale_learning_rate,
)
from moxing.tensorflow.optimizer.wrapping import hooks_of

_MOST = 400  # maximum steps of one call; their log lines appear after it


class StepObservers:
    """The observers of single steps, as reasons against many steps in one call.

    ``each`` is one that observes every step; ``inside`` is one that observes some, from inside.
    """

    def __init__(self, each: str = "", inside: str = "") -> None:
        self.each = each
        self.inside = inside


def many_steps(
    request: Request, op: Any, usual: Mapping[str, Any], sights: StepObservers, resumes: bool
) -> Fused | None:
    """Return an object that runs many steps in one call with the same results, or None.

    XLA is used if it is requested, or if the run that is resumed began with it.
    """
    values = list(usual.values())
    xla = refusals.chosen(request.log_dir or "", has_checkpoint=resumes)
    reason = sights.each or why_not(op, values) or ""
    made: Fused | None = None
    if xla:
        made, reason = _compiled(request, op, values, reason or sights.inside)
    if made is None and not (sights.each or why_not(op, values)):
        kept = can_be_kept(values)
        plain = Fused(op, values, steps=_MOST if kept else None, trail=kept)
        made = None if plain.alone and sights.inside else plain
    if xla and reason:
        leave_out_xla(request.log_dir, reason)
    elif request.log_dir:
        refusals.keep(request.log_dir, xla)
    return made


def leave_out_xla(log_dir: str | None, reason: str) -> None:
    """Log why a training continues without XLA, and store it for runs that resume it."""
    tf.logging.warning("XLA is left out: %s.", reason.rstrip("."))
    if log_dir:
        refusals.keep(log_dir, False)


def _compiled(
    request: Request, op: Any, values: list[Any], reason: str
) -> tuple[Fused | None, str]:
    """Return the compiled steps, or None and the reason."""
    if reason:
        return None, reason
    kept = can_be_kept(values)
    most = _MOST if kept else min(request.log_every or _MOST, _MOST)
    try:
        return Fused(op, values, xla=True, steps=most, trail=kept), ""
    except Unsupported as error:
        return None, error.message


class Saving(RunCallback):
    """Saves checkpoints every ``steps`` or ``seconds``; with neither, only the last one.

    ``before`` is called before each of them, to write the data of steps that will not be repeated.
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

    def begin(self, moment: StepState) -> None:
        self._at = self._clock()
        if self._weights is not None:
            self._weights.begin(moment.session)
        if self._resumes:
            self._saved = moment.global_step
        elif self._steps or self._seconds:
            self._save(moment)

    def after(self, moment: StepState) -> None:
        by_steps = self._steps and moment.global_step - self._saved >= self._steps
        by_time = self._seconds and self._clock() - self._at >= self._seconds
        if by_steps or by_time:
            self._save_trained(moment)

    def end(self, moment: StepState) -> None:
        if moment.global_step != self._saved:
            self._save_trained(moment)

    def _save_trained(self, moment: StepState) -> None:
        if self._weights is not None:
            self._weights.check(moment.session, moment.global_step)
        self._save(moment)

    def _save(self, moment: StepState) -> None:
        self._before()
        self._at = self._clock()
        self._saved = moment.global_step
        tf.logging.info("Saving checkpoints for %d into %s.", moment.global_step, self._path)
        self._saver.save(moment.session, self._path, global_step=moment.global_step)


_ENDLESS = 10**9  # more steps than this mean: until the data ends


@dataclass
class _Built:
    """The graph of a training."""

    model: Model
    inter: Model | None
    usual: dict[str, Any]
    losses: dict[str, str]  # the names of those among the usual values
    op: Any
    rate: Any  # the learning rate: a number or a tensor
    scale: Rate | None
    slots: list[Any]
    together: list[Any]  # hooks of workers that do their steps together


def train(request: Request, cluster: Cluster | None = None) -> None:
    """Train to the last step; then export the model if that is requested."""
    if cluster is not None and not cluster.is_chief:
        # The chief alone reads and writes checkpoints, and all else below log_dir.
        request = replace(request, log_dir=None, checkpoint_path=None, export=None)
    placed = placement()
    with new_graph(cluster) as graph:
        built = _build(request, graph, placed, cluster)
        export = Export(request, built.model.inputs[0], graph) if request.export else None
        if request.log_dir:
            write_labels(request.log_dir, graph)
        found = restoring.source(request.log_dir, request.checkpoint_path)
        if found is None and not request.max_steps and cluster is None:
            raise ValueError(
                "max_number_of_steps is 0 and there is no checkpoint: nothing would be exported "
                "but untrained values."
            )
        saver = tf.train.Saver(save_relative_paths=True)
        tf.add_to_collection(tf.GraphKeys.SAVERS, saver)  # where hooks of TensorFlow look for it
        start = Start(restoring.Restorer(found, tf.global_variables(), built.slots), saver)
        joined = joining(built.model, built.inter)
        parts = _parts(request, built, placed, saver, start, found, cluster)
        fused = None
        if cluster is None:
            resumes = found is not None and found.resumes
            sights = _sights(request, built, joined)
            fused = many_steps(request, built.op, built.usual, sights, resumes)
        loop = Loop(
            built.usual,
            parts,
            request.max_steps,
            fused,
            alone=cluster is None,
            slower=partial(leave_out_xla, request.log_dir),
        )
        ready = scaffold(start, _initializers(built), saver)
        config = configuration(placed)
        hooks = [*joined, loop.hook()]
        with _session(request, built, cluster, loop, ready, config, hooks) as session:
            loop.run(session)
    loop.raise_failure()
    if export is not None:
        # The last checkpoint saved; the one it started from if there was no step to do.
        export.write([start.taken, *saver.last_checkpoints][-1])
    if cluster is not None:
        cluster.leave()


def _session(
    request: Request,
    built: _Built,
    cluster: Cluster | None,
    loop: Loop,
    ready: tf.train.Scaffold,
    config: tf.ConfigProto,
    hooks: Sequence[Any],
) -> tf.train.MonitoredSession:
    if cluster is None:
        return open_session(ready, config, [*built.together, *hooks])
    shared = any(
        isinstance(hook, AggregativeSessionRunHook) and hook.support_sync_workers()
        for hook in built.model.first.hooks
    )
    return cluster.session(
        ready,
        config,
        hooks,
        checkpoint_dir=request.log_dir,
        decided=lambda: loop.moment.stop,
        shared=shared,
        first=built.together,
    )


def _build(request: Request, graph: Any, placed: Any, cluster: Cluster | None) -> _Built:
    sharing = Sharing()
    model = build(request, ModeKeys.TRAIN, graph, sharing, placed)
    inter = None
    if request.inter_mode:
        inter = build(request, request.inter_mode, graph, sharing, placed, required=False)
    of_model = {id(each) for each in tf.global_variables()}
    made = optimizers(request.optimizer_fns, len(model.first.losses))
    scale = _scale(model, made)
    rate = learning_rate_of(made[0])
    made, together = _together(model, made, cluster)
    op = train_op(model, made, placed, tf.train.get_global_step())
    together = [*(hook for each in made for hook in hooks_of(each)), *together]
    slots = [each for each in tf.global_variables() if id(each) not in of_model]
    with tf.control_dependencies([op]):
        done = tf.identity(tf.train.get_global_step().read_value(), "mox_step")
    usual = {STEP: done, **usual_values(model, request.batch_size)}
    if request.log_dir and request.summary_every and tf.is_tensor(rate):
        usual[RATE] = tf.convert_to_tensor(rate)
    losses = watched(model, usual, bool(get_flag("log_first_clone")))
    return _Built(model, inter, usual, losses, op, rate, scale, slots, together)


def _together(
    model: Model, made: Sequence[Any], cluster: Cluster | None
) -> tuple[list[Any], list[Any]]:
    """Return the optimizers, wrapped as the cluster requires, and the hooks they need."""
    if cluster is None:
        return list(made), []
    if cluster.steps_together and not cluster.is_chief:
        model.updates = []  # the chief updates moving averages, once a step
    joined, hooks = zip(*map(cluster.synchronized, made), strict=True)
    return list(joined), [hook for each in hooks for hook in each]


def _scale(model: Model, made: Sequence[Any]) -> Rate | None:
    if not any(isinstance(hook, PlateauLREarlyStoppingHook) for hook in model.first.hooks):
        return None
    scale = Rate()
    for optimizer in made:
        scale_learning_rate(optimizer, scale.factor)
    scale.rate = learning_rate_of(made[0])
    return scale


def _initializers(built: _Built) -> list[Any]:
    return [*built.model.initializers, *(built.inter.initializers if built.inter else ())]


def _sights(request: Request, built: _Built, joined: Sequence[Any]) -> StepObservers:
    written = request.log_dir and request.summary_every
    draws = bool(written and tf.get_collection(tf.GraphKeys.SUMMARIES))
    return StepObservers(
        each=f"{type(joined[0]).__name__} sees every step" if joined else "",
        inside="output_fn is given every step"
        if request.output_every
        else "the model has summaries of its own"
        if draws
        else "",
    )


def _parts(
    request: Request,
    built: _Built,
    placed: Any,
    saver: Any,
    start: Start,
    found: Any,
    cluster: Cluster | None,
) -> list[RunCallback]:
    """Return the callbacks of the run, in the order in which they are called for a step."""
    parts: list[RunCallback] = [_Beginning(request, start), *left_over(built.model.left_over)]
    if request.log_every:
        parts.append(TrainingLines(request.log_every, Speed(request.batch_size, placed.clones)))
    parts.append(Losses(built.losses, list(built.usual), saver))
    if request.output_fn is not None:
        if request.output_every and built.model.first.output_info:
            per_clone = [spec.output_info for spec in built.model.specs]
            parts.append(Outputs(request.output_fn, request.output_every, per_clone))
        else:
            why = "output_every_n_steps is 0" if not request.output_every else "no output_info"
            tf.logging.warning("output_fn is not called: %s.", why)
    if request.log_dir:
        parts += _kept(request, built, saver, found)
    wanted = evaluations(built.model, built.inter)
    if built.inter is not None and not built.inter.first.hooks:
        tf.logging.warning("inter_mode is never run: no hook of the model evaluates in it.")
    if wanted and built.inter is not None and (cluster is None or cluster.is_chief):
        workers = len(cluster.workers) if cluster and cluster.steps_together else 1
        curve = Evaluated(request.log_dir)
        replicas = placed.clones * workers
        parts += [InterMode(wanted, built.inter, replicas, curve.write, built.scale), curve]
    return parts


def _kept(request: Request, built: _Built, saver: Any, found: Any) -> list[RunCallback]:
    """Return the callbacks that write below log_dir."""
    assert request.log_dir is not None
    graph = tf.get_default_graph()
    tf.train.write_graph(graph, request.log_dir, "graph.pbtxt")
    writer = Writer(request.log_dir, graph)
    parts: list[RunCallback] = [StepRate(writer.numbers)]
    if request.summary_every:
        drawn = tf.get_collection(tf.GraphKeys.SUMMARIES)
        merged = tf.summary.merge(drawn) if drawn else None
        parts.append(Summaries(request.summary_every, writer, merged, _number(built.rate)))
    resumes = found is not None and found.resumes
    weights = Weights(tf.trainable_variables(), saver)
    often = (request.save_steps, request.save_seconds)
    saving = Saving(saver, request.log_dir, *often, resumes, weights, before=writer.show)
    return [*parts, writer, saving]


def _number(rate: Any) -> float | None:
    return None if rate is None or tf.is_tensor(rate) else float(rate)


class _Beginning(RunCallback):
    """Logs at the start at which step a run ends, or why nothing is left to train."""

    def __init__(self, request: Request, start: Start) -> None:
        self._request = request
        self._start = start

    def begin(self, moment: StepState) -> None:
        last = self._request.max_steps
        if moment.global_step < last:
            tf.logging.info("Running will end at step: %d", last)
            if last < _ENDLESS:
                aim(last)
            return
        if self._start.taken is None:
            tf.logging.info("The others have done all %d steps: nothing is left to train.", last)
            return
        tf.logging.info(
            "The checkpoint %s is at step %d >= max_number_of_steps %d: nothing is left to train. "
            "%s",
            *(self._start.taken, moment.global_step, last, self._advice()),
        )

    def _advice(self) -> str:
        own = (self._request.log_dir or "").rstrip("/")
        if own and (self._start.taken or "").startswith(f"{own}/"):
            return (
                "Raise max_number_of_steps to continue, or give another log_dir (the job's "
                "train_url) to begin anew."
            )
        return "--checkpoint_exclude_patterns=global_step takes its values and counts from 0."
