"""A run that evaluates or predicts."""

from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.datasets.base import shuffled_in
from moxing.tensorflow.executor import restoring
from moxing.tensorflow.executor.export import Export
from moxing.tensorflow.executor.logs import EvaluationLines, Speed, left_over, usual_values
from moxing.tensorflow.executor.loop import Loop
from moxing.tensorflow.executor.model import Model, build
from moxing.tensorflow.executor.modes import ModeKeys
from moxing.tensorflow.executor.outputs import Outputs
from moxing.tensorflow.executor.parts import Part
from moxing.tensorflow.executor.placement import placement
from moxing.tensorflow.executor.registered import joining
from moxing.tensorflow.executor.request import Request
from moxing.tensorflow.executor.session import (
    Start,
    configuration,
    new_graph,
    open_session,
    scaffold,
)
from moxing.tensorflow.executor.sharing import Sharing
from moxing.tensorflow.executor.summaries import Evaluated


def evaluate(request: Request, writes: bool = True) -> dict[str, float]:
    """Run a model with the values of a checkpoint; return the means of its log_info.

    ``writes``: this process is the one whose files are kept.
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


def _outputs(request: Request, model: Model) -> list[Part]:
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
