"""Builds a model in one mode: inputs on the CPU, ``model_fn`` once for each clone."""

import contextlib
from dataclasses import dataclass, field
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.executor.callbacks import call
from moxing.tensorflow.executor.pipeline.batches import Batches, batches
from moxing.tensorflow.executor.precision import computed, kept
from moxing.tensorflow.executor.request import Request
from moxing.tensorflow.executor.run_graph import RunGraph
from moxing.tensorflow.executor.sharing import Sharing
from moxing.tensorflow.executor.spec import InputSpec, ModelSpec, checked


@dataclass
class Model:
    """One mode's graph. ``updates`` are those of the first clone."""

    mode: str
    inputs: list[Any]  # of each clone, as model_fn was given them
    specs: list[ModelSpec]  # of each clone
    initializers: list[Any]
    left_over: Any = None  # how many samples fill no batch, below 0 where that is not known
    updates: list[Any] = field(default_factory=list)

    @property
    def first(self) -> ModelSpec:
        return self.specs[0]

    def log_info(self, first_clone: bool) -> dict[str, Any]:
        """Return what is printed: the first clone's, or the mean over all of them."""
        if first_clone or len(self.specs) == 1:
            return dict(self.first.log_info)
        return {
            name: tf.add_n([_same_type(spec.log_info[name], value) for spec in self.specs])
            / tf.cast(len(self.specs), _floating(value))
            for name, value in self.first.log_info.items()
        }


def build(
    request: Request,
    mode: str,
    graph: RunGraph,
    sharing: Sharing,
    placement: Any,
    required: bool = True,
) -> Model:
    """Call ``input_fn`` and ``model_fn`` for a mode; ``graph`` is the default one.

    ``required``: what the mode asks of a ModelSpec must be there.
    """
    graph.begin_mode()
    drawn = graph.get_collection_ref(tf.GraphKeys.SUMMARIES)
    before = len(drawn)
    with tf.device(placement.inputs()):
        returned = call(request.input_fn, mode)
        given, made = _inputs(returned, request, mode, placement.clones)
    if len(drawn) > before:
        tf.logging.warning("Summaries of input_fn are not drawn: its data is read ahead.")
        del drawn[before:]
    initializers = [each.initializer for each in made if each.initializer is not None]
    model = Model(mode, given, [], initializers, made[0].left_over)
    for clone, inputs in enumerate(given):
        spec = _add_clone(model, clone, inputs, request, graph, sharing, placement)
        model.specs.append(checked(spec, mode, required))
        if clone or not required:
            del drawn[before:]  # a second one's would be drawn beside the first's
        before = len(drawn)
    return model


def _inputs(
    returned: Any, request: Request, mode: str, clones: int
) -> tuple[list[Any], list[Batches]]:
    if not isinstance(returned, InputSpec):
        made = _batches(returned, request, mode, clones)
        return made.per_clone, [made]
    each = [_batches(tensors, request, mode, clones) for tensors in returned.inputs]
    if not each:
        raise ValueError("input_fn returned a mox.InputSpec without inputs: call new_input(…).")
    given = [
        returned.with_inputs([one.per_clone[clone] for one in each]) for clone in range(clones)
    ]
    return given, each


def _batches(returned: Any, request: Request, mode: str, clones: int) -> Batches:
    return batches(
        returned,
        batch_size=request.batch_size,
        auto_batch=request.auto_batch,
        clones=clones,
        mode=mode,
    )


def _add_clone(
    model: Model,
    clone: int,
    inputs: Any,
    request: Request,
    graph: RunGraph,
    sharing: Sharing,
    placement: Any,
) -> Any:
    graph.begin_clone(clone)
    try:
        # Names without a scope for the first: they are those of the checkpoint.
        scope = tf.name_scope(f"clone_{clone}") if clone else contextlib.nullcontext()
        with tf.device(placement.model(clone)), scope, sharing.variables(), kept():
            returned = call(request.model_fn, computed(inputs), model.mode)
        if clone == 0:
            graph.share_losses(tensors_of(inputs))
            model.updates = graph.of_clone(tf.GraphKeys.UPDATE_OPS)
    finally:
        graph.end_clone()
    return returned


def tensors_of(inputs: Any) -> list[Any]:
    """Return every tensor in what a model_fn is given."""
    found = inputs.inputs if isinstance(inputs, InputSpec) else inputs
    return [each for each in tf.nest.flatten(found, expand_composites=True) if tf.is_tensor(each)]


def _floating(value: Any) -> Any:
    return value.dtype if value.dtype.is_floating else tf.float32


def _same_type(value: Any, like: Any) -> Any:
    return tf.cast(value, _floating(like))
