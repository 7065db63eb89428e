"""The training step: gradients of every clone, averaged, applied by each loss's optimizer."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.executor.callbacks import call
from moxing.tensorflow.executor.flags import get_flag
from moxing.tensorflow.executor.model import Model
from moxing.tensorflow.executor.patterns import Patterns

Gradients = list[tuple[Any, Any]]


def optimizers(functions: Sequence[Callable[..., Any]], losses: int) -> list[Any]:
    """Return the optimizer of each loss, made by the user's functions."""
    if len(functions) != losses:
        raise ValueError(
            f"model_fn returned {losses} loss(es) and optimizer_fn has {len(functions)}: "
            "give a list with one function for each loss."
        )
    made = []
    for function in functions:
        optimizer = call(function)
        if not isinstance(optimizer, tf.train.Optimizer):
            raise TypeError(
                "optimizer_fn must return an optimizer of tf.train, got "
                f"{type(optimizer).__name__}. {_instead_of(optimizer)}"
            )
        made.append(optimizer)
    return made


def _instead_of(returned: Any) -> str:
    if returned is None:
        return "Is a `return` missing at its end?"
    if inspect.isfunction(returned):
        return "Call that function too: mox.get_optimizer_fn(…)() returns an optimizer."
    return "Write lambda: tf.train.GradientDescentOptimizer(0.01), or another of tf.train."


def train_op(model: Model, made: Sequence[Any], placement: Any, global_step: Any) -> Any:
    """Return the operation that does one step.

    With several losses all gradients are taken from the values before the step, then applied in
    the order of the losses; the step counts once.
    """
    scopes = model.first.scopes()
    per_loss = [
        _gradients(model, position, optimizer, scopes[position], placement)
        for position, optimizer in enumerate(made)
    ]
    ready = [_dense(gradient) for gradients in per_loss for gradient, _ in gradients]
    applied: list[Any] = []
    for position, (optimizer, gradients) in enumerate(zip(made, per_loss, strict=True)):
        is_last = position == len(made) - 1
        with tf.control_dependencies([*ready, *applied] if len(made) > 1 else []):
            applied = [
                optimizer.apply_gradients(gradients, global_step=global_step if is_last else None)
            ]
    return tf.group(*applied, *model.updates, name="mox_train_op")


def _gradients(
    model: Model, position: int, optimizer: Any, scopes: list[str] | None, placement: Any
) -> Gradients:
    variables = _variables(scopes)
    scale = float(get_flag("loss_scale") or 1)
    per_clone = []
    for clone, spec in enumerate(model.specs):
        with tf.device(placement.model(clone)), tf.name_scope(f"gradients_{clone}"):
            loss = spec.losses[position]
            per_clone.append(
                optimizer.compute_gradients(
                    loss * tf.cast(scale, loss.dtype) if scale != 1 else loss, var_list=variables
                )
            )
    gradients = [
        (gradient, variable)
        for gradient, variable in _averaged(per_clone, 1 / scale)
        if gradient is not None
    ]
    if not gradients:
        raise ValueError(
            f"loss{f'[{position}]' if len(model.first.losses) > 1 else ''} depends on none of the "
            f"variables it is to train: {', '.join(each.op.name for each in variables)}."
        )
    return _clipped(gradients)


def _variables(scopes: list[str] | None) -> list[Any]:
    """Return what is trained: inside the scopes, and as the flags with patterns say."""
    everything = tf.trainable_variables()
    patterns = Patterns("trainable_include_patterns", "trainable_exclude_patterns")
    found = [
        variable
        for variable in everything
        if _is_below(variable.op.name, scopes) and patterns.take(variable.op.name)
    ]
    if not found:
        names = ", ".join(each.op.name for each in everything) or "none"
        where = f"below var_scopes {scopes}" if scopes else "that the flags let through"
        raise ValueError(f"There is no trainable variable {where}. Variables: {names}.")
    return found


def _is_below(name: str, scopes: list[str] | None) -> bool:
    return scopes is None or any(
        name == scope.rstrip("/") or name.startswith(scope.rstrip("/") + "/") for scope in scopes
    )


def _averaged(per_clone: list[Gradients], factor: float) -> Gradients:
    clones = len(per_clone)
    if clones == 1 and factor == 1:
        return per_clone[0]
    found = []
    with tf.name_scope("average"):
        for same in zip(*per_clone, strict=True):
            variable = same[0][1]
            gradients = [gradient for gradient, _ in same if gradient is not None]
            found.append((_mean(gradients, factor / clones) if gradients else None, variable))
    return found


def _mean(gradients: list[Any], factor: float) -> Any:
    if all(isinstance(each, tf.IndexedSlices) for each in gradients):
        values = tf.concat([each.values for each in gradients], 0)
        indices = tf.concat([each.indices for each in gradients], 0)
        scaled = values * tf.cast(factor, values.dtype)
        return tf.IndexedSlices(scaled, indices, gradients[0].dense_shape)
    total = tf.add_n([tf.convert_to_tensor(each) for each in gradients])
    return total * tf.cast(factor, total.dtype)


def _clipped(gradients: Gradients) -> Gradients:
    kind, limit = str(get_flag("gradient_clip_type") or ""), float(get_flag("gradient_clip") or 0)
    if not kind or not limit:
        return gradients
    values, variables = zip(*gradients, strict=True)
    if "norm" in kind:
        values, _ = tf.clip_by_global_norm(list(values), limit)
    elif "value" in kind:
        values = [tf.clip_by_value(tf.convert_to_tensor(each), -limit, limit) for each in values]
    else:
        raise ValueError(f"--gradient_clip_type must be 'norm' or 'value', got {kind!r}.")
    return list(zip(values, variables, strict=True))


def _dense(gradient: Any) -> Any:
    return gradient.values if isinstance(gradient, tf.IndexedSlices) else gradient
