"""Building of a model in one mode: inputs on the CPU, ``model_fn`` once for each clone.

Contains the calls of user functions, the sharing of variables between clones and modes, and
``mox.get_collection``.
"""

import contextlib
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.ops import variable_scope as variable_scopes

from moxing.tensorflow.executor.pipeline.batches import Batches, batches
from moxing.tensorflow.executor.precision import computed, kept
from moxing.tensorflow.executor.request import Request
from moxing.tensorflow.executor.run_graph import RunGraph
from moxing.tensorflow.executor.spec import InputSpec, ModelSpec, checked

_depth = 0


def inside_callback() -> bool:
    """Return True if ``mox.run`` is calling a function of the user."""
    return _depth > 0


def call(function: Callable[..., Any], *given: Any) -> Any:
    """Call a function with as many positional arguments of ``given`` as it takes.

    Scripts name the mode ``mode`` or ``run_mode``, take ``**kwargs`` or not, and some take fewer
    arguments.
    """
    with _inside():
        return function(*given[: _positions(function, len(given))])


@contextlib.contextmanager
def _inside() -> Iterator[None]:
    global _depth
    _depth += 1
    try:
        yield
    finally:
        _depth -= 1


def _positions(function: Callable[..., Any], most: int) -> int:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return most  # built in: it checks its arguments itself
    if any(each.kind is each.VAR_POSITIONAL for each in parameters):
        return most
    by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return min(most, sum(each.kind in by_position for each in parameters))


_COUNTED = re.compile(r"_\d+$")
_CLONE = re.compile(r"clone_\d+(_\d+)?")


class Sharing:
    """Shares variables: the first call of model_fn creates them, later calls reuse them.

    ``tf.get_variable`` is reused by name. ``tf.Variable``, which Keras layers create too, is reused
    by the requested name. Variables with equal names are reused in the order of their creation.
    """

    def __init__(self) -> None:
        # Requested names and variables; None until the first call of model_fn has ended.
        self._made: list[tuple[str, Any]] | None = None
        self._used: set[int] = set()

    @contextlib.contextmanager
    def variables(self) -> Iterator[None]:
        """Call ``model_fn`` inside this context."""
        first = self._made is None
        recorded: list[tuple[str, Any]] = []
        self._used = set()
        scope = tf.variable_scope(
            tf.get_variable_scope(), reuse=None if first else True, use_resource=True
        )
        make = _recording(recorded) if first else self._reusing
        with scope, variable_scopes.variable_creator_scope_v1(make):
            yield
        if first:
            named = {id(one) for one in _by_name()}
            self._made = [pair for pair in recorded if id(pair[1]) not in named]

    def _reusing(self, make: Callable[..., Any], **wanted: Any) -> Any:
        if not _is_global(wanted):
            return make(**wanted)
        assert self._made is not None
        name = _asked(wanted)
        for position, (made_as, variable) in enumerate(self._made):
            if position not in self._used and made_as == name and _fits(variable, wanted):
                self._used.add(position)
                return variable
        raise ValueError(
            f"model_fn makes a tf.Variable ({wanted.get('name') or 'Variable'}) for a clone or "
            "mode that its first call did not make, so that it cannot be shared: "
            "use tf.get_variable."
        )


def _recording(recorded: list[tuple[str, Any]]) -> Callable[..., Any]:
    def make_and_record(make: Callable[..., Any], **wanted: Any) -> Any:
        name = _asked(wanted)
        made = make(**wanted)
        if _is_global(wanted):
            recorded.append((name, made))
        return made

    return make_and_record


def _asked(wanted: dict[str, Any]) -> str:
    """Return the requested name without the suffixes that make it unique: dense, not dense_1.

    The suffixes depend on what was created before: clones, modes, and layers for training only.
    """
    scope = tf.get_default_graph().get_name_scope()
    parts = [*scope.split("/"), str(wanted.get("name") or "Variable")]
    plain = [_COUNTED.sub("", part) for part in parts if not _CLONE.fullmatch(part)]
    return "/".join(part for part in plain if part)


def _by_name() -> list[Any]:
    return list(variable_scopes._get_default_variable_store()._vars.values())


def _is_global(wanted: dict[str, Any]) -> bool:
    """Return True if the variable is global.

    Metrics keep their sums in local variables, one set for each clone.
    """
    collections = wanted.get("collections")
    return collections is None or tf.GraphKeys.GLOBAL_VARIABLES in collections


def _fits(variable: Any, wanted: dict[str, Any]) -> bool:
    shape, value = wanted.get("shape"), wanted.get("initial_value")
    if shape is None and value is not None and not callable(value):
        try:
            shape = tf.convert_to_tensor(value).shape
        except (TypeError, ValueError):
            return True
    return shape is None or variable.shape.is_compatible_with(shape)


@dataclass
class Model:
    """The graph of one mode. ``updates`` are those of the first clone."""

    mode: str
    inputs: list[Any]  # of each clone, as model_fn was given them
    specs: list[ModelSpec]  # of each clone
    initializers: list[Any]
    left_over: Any = None  # how many samples do not fill a batch; below 0 if unknown
    updates: list[Any] = field(default_factory=list)

    @property
    def first(self) -> ModelSpec:
        return self.specs[0]

    def log_info(self, first_clone: bool) -> dict[str, Any]:
        """Return the tensors to print: those of the first clone, or the mean over all clones."""
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
    """Call ``input_fn`` and ``model_fn`` for a mode; ``graph`` is the default graph.

    With ``required``, the ModelSpec must have the fields that the mode needs.
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
            del drawn[before:]  # they would repeat those of the first
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
        # The first clone has no scope: its names are those of the checkpoint.
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
    """Return every tensor in the inputs of a model_fn."""
    found = inputs.inputs if isinstance(inputs, InputSpec) else inputs
    return [each for each in tf.nest.flatten(found, expand_composites=True) if tf.is_tensor(each)]


def _floating(value: Any) -> Any:
    return value.dtype if value.dtype.is_floating else tf.float32


def _same_type(value: Any, like: Any) -> Any:
    return tf.cast(value, _floating(like))


def get_collection(key: str) -> list[Any]:
    """Return the current clone's part of a collection; outside of model_fn, all of it.

    Collections of variables are whole for every clone: the clones share them.
    """
    graph = tf.get_default_graph()
    return graph.of_clone(key) if isinstance(graph, RunGraph) else tf.get_collection(key)
