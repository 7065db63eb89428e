"""The training step, and the placement of clones on devices.

The gradients of all clones are averaged and applied by the optimizer of each loss.
"""

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime.gpus import has_gpu
from moxing.tensorflow.executor.model import Model, call
from moxing.tensorflow.executor.request import get_flag


class Patterns:
    """A filter of variable names by the patterns of two flags.

    If ``include`` is empty, every name passes except those of ``exclude``.
    """

    def __init__(self, include: str, exclude: str) -> None:
        self._include = _read(include)
        self._exclude = _read(exclude)

    def take(self, name: str) -> bool:
        wanted = not self._include or any(each.search(name) for each in self._include)
        return wanted and not any(each.search(name) for each in self._exclude)


def _read(flag: str) -> list[re.Pattern[str]]:
    found = []
    for text in str(get_flag(flag) or "").split(","):
        try:
            found += [re.compile(text.strip())] if text.strip() else []
        except re.error as error:
            raise ValueError(
                f"--{flag}: {text.strip()!r} is no regular expression: {error}. "
                "Write a part of the names, such as logits."
            ) from None
    return found


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
    """Return the variables to train: inside the scopes, and selected by the pattern flags."""
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
    values = [gradient for gradient, _ in gradients]
    if "norm" in kind:
        values, _ = tf.clip_by_global_norm(values, limit)
    elif "value" in kind:
        values = [tf.clip_by_value(tf.convert_to_tensor(each), -limit, limit) for each in values]
    else:
        raise ValueError(f"--gradient_clip_type must be 'norm' or 'value', got {kind!r}.")
    return [(value, variable) for value, (_, variable) in zip(values, gradients, strict=True)]


def _dense(gradient: Any) -> Any:
    return gradient.values if isinstance(gradient, tf.IndexedSlices) else gradient


_VARIABLES = ("Variable", "VariableV2", "VarHandleOp", "AutoReloadVariable", "MutableHashTableV2")
_CPU = "/device:CPU:0"


@dataclass(frozen=True)
class Placement:
    """The devices of ``clones`` clones. With one, TensorFlow places everything itself."""

    clones: int
    kind: str  # GPU or CPU

    def model(self, clone: int) -> Any:
        """Return the device of a clone's model, for ``tf.device``."""
        if self.clones == 1:
            return ""  # None would undo the placement of a cluster
        return _on(f"/device:{self.kind}:{clone}")

    def inputs(self) -> Any:
        return _CPU

    def configure(self, config: tf.ConfigProto) -> None:
        if self.kind == "CPU" and self.clones > 1:
            config.device_count["CPU"] = self.clones


def placement() -> Placement:
    """Return the placement of clones for the flags and the GPUs of this machine.

    Raises:
        ValueError: ``--num_gpus`` is below 1, or GPUs are missing with ``--strict_gpus``.
    """
    clones = int(get_flag("num_gpus") or 1)
    if clones < 1:
        raise ValueError(f"--num_gpus must be 1 or more, got {clones}.")
    on_gpus = not get_flag("clone_on_cpu") and has_gpu() and _gpus() >= clones
    if clones > 1 and not on_gpus and not get_flag("clone_on_cpu"):
        found = _gpus() if has_gpu() else 0
        if get_flag("strict_gpus"):
            raise ValueError(
                f"--num_gpus={clones} and {found} GPU(s) are there. Without --strict_gpus the "
                "clones run on the CPU."
            )
        tf.logging.warning(
            "--num_gpus=%d and %d GPU(s) are there: the model runs as %d clones on the CPU.",
            *(clones, found, clones),
        )
    return Placement(clones, "GPU" if on_gpus else "CPU")


def _gpus() -> int:
    return len(tf.config.list_physical_devices("GPU"))


def _on(device: str) -> Callable[[Any], str]:
    """Return a device function: variables on the first CPU, the rest on ``device``.

    Devices that the model sets itself are kept.
    """

    def place(operation: Any) -> str:
        own = tf.DeviceSpec.from_string(_CPU if operation.type in _VARIABLES else device)
        given = tf.DeviceSpec.from_string(operation.device or "")
        return str(own.make_merged_spec(given).to_string())

    return place
