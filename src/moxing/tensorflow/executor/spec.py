"""The return types of ``model_fn`` and ``input_fn``, and their checks."""

from collections.abc import Iterator, Mapping, Sequence
from numbers import Integral
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.executor.request import ModeKeys


class ExportSpec:
    """The tensors a served model takes and gives. ``version=-1``: the next number."""

    def __init__(
        self,
        inputs_dict: Mapping[str, Any],
        outputs_dict: Mapping[str, Any],
        version: int | str = -1,
    ) -> None:
        for name, tensors in (("inputs_dict", inputs_dict), ("outputs_dict", outputs_dict)):
            if not isinstance(tensors, Mapping) or not tensors:
                raise ValueError(
                    f"mox.ExportSpec({name}=…) must be a dict of names and tensors with at least "
                    f"one of them, got {tensors!r}."
                )
        if not _is_version(version):
            raise ValueError(
                f"mox.ExportSpec(version=…) must be a number, or the name of a directory, "
                f"got {version!r}. -1 takes the next number."
            )
        self.inputs_dict = dict(inputs_dict)
        self.outputs_dict = dict(outputs_dict)
        self.version = version


class InputSpec:
    """Inputs by number: ``new_input`` in ``input_fn``, ``get_input`` in ``model_fn``."""

    def __init__(self, split_to_device: bool = False) -> None:
        self.split_to_device = split_to_device
        self._inputs: list[Any] = []

    def new_input(self, tensors: Any) -> None:
        self._inputs.append(tensors)

    def get_input(self, index: int = 0) -> Any:
        if not 0 <= index < len(self._inputs):
            raise IndexError(f"get_input({index}): input_fn gave {len(self._inputs)} input(s).")
        return self._inputs[index]

    @property
    def inputs(self) -> list[Any]:
        return self._inputs

    def with_inputs(self, inputs: Sequence[Any]) -> "InputSpec":
        """Return a copy with other tensors, those of one clone."""
        other = InputSpec(self.split_to_device)
        other._inputs = list(inputs)
        return other


class ModelSpec:
    """A model in one mode.

    ``loss`` is a number or a list of them, each trained by its own optimizer on the variables
    below its ``var_scopes``. Which fields must be there depends on the mode: see ``checked``.
    """

    def __init__(
        self,
        loss: Any = None,
        var_scopes: Any = None,
        log_info: Mapping[str, Any] | None = None,
        output_info: Mapping[str, Any] | None = None,
        export_spec: ExportSpec | None = None,
        hooks: Sequence[Any] | None = None,
        *,
        var_scope: Any = None,
        output_dict: Mapping[str, Any] | None = None,
        compressor_spec: Any = None,
    ) -> None:
        self.loss = loss
        self.var_scopes = var_scopes if var_scopes is not None else var_scope
        if not _are_scopes(self.var_scopes):
            raise TypeError(
                "mox.ModelSpec(var_scopes=…) must be a list of scope names, or of such lists, got "
                f"{self.var_scopes!r}."
            )
        outputs = output_dict if output_info is None else output_info
        self.log_info, self.output_info = _by_name(log_info=log_info, output_info=outputs)
        self.export_spec = export_spec
        self.hooks = list(hooks or []) if isinstance(hooks, list | tuple | None) else [hooks]
        del compressor_spec  # of an add-on that compressed models; not used here

    @property
    def losses(self) -> list[Any]:
        if self.loss is None:
            return []
        return list(self.loss) if isinstance(self.loss, list | tuple) else [self.loss]

    def scopes(self) -> list[list[str] | None]:
        """Return for each loss the scopes of its variables, None for all."""
        count, given = len(self.losses), self.var_scopes
        if given is None:
            return [None] * count
        if isinstance(given, str):
            given = [given]
        if not isinstance(self.loss, list | tuple):
            return [_flat(given)]
        if len(given) != count:
            raise ValueError(
                f"mox.ModelSpec has {count} losses and {len(given)} var_scopes: "
                "var_scopes[i] is the list of scopes for loss[i]."
            )
        return [[each] if isinstance(each, str) else list(each) for each in given]


def checked(given: Any, mode: str, required: bool = True) -> ModelSpec:
    """Return the ModelSpec of ``model_fn``, or raise with all its faults in this mode.

    Unless ``required``, a field that the mode needs may be missing.

    Raises:
        TypeError: it is not a ModelSpec.
        ValueError: fields are missing or wrong.
    """
    if not isinstance(given, ModelSpec):
        raise TypeError(
            f"model_fn must return a mox.ModelSpec, got {type(given).__name__} in mode {mode}."
        )
    faults = list(_faults(given, mode, required))
    if faults:
        raise ValueError("\n".join(faults))
    return given


def _faults(spec: ModelSpec, mode: str, required: bool) -> Iterator[str]:
    needed = {
        ModeKeys.TRAIN: ("loss", spec.loss is not None),
        ModeKeys.EVAL: ("log_info", bool(spec.log_info)),
        ModeKeys.PREDICT: ("output_info", bool(spec.output_info)),
        ModeKeys.EXPORT: ("export_spec", spec.export_spec is not None),
    }
    field, is_there = needed[mode]
    if required and not is_there:
        yield f"model_fn returned no `{field}` in its mox.ModelSpec, and the mode is {mode}."
    if mode == ModeKeys.TRAIN and spec.loss is not None:
        for position, loss in enumerate(spec.losses):
            where = f"loss[{position}]" if len(spec.losses) > 1 else "loss"
            faults = list(not_a_number(where, loss))
            yield from faults
            if not faults and not loss.dtype.is_floating:
                yield f"{where} must be of a floating-point type, got {loss.dtype.name}."
    if mode != ModeKeys.EXPORT:
        for name, value in spec.log_info.items():
            yield from not_a_number(f"log_info[{name!r}]", value)
    if spec.export_spec is not None and not isinstance(spec.export_spec, ExportSpec):
        yield f"export_spec must be a mox.ExportSpec, got {type(spec.export_spec).__name__}."


def not_a_number(where: str, value: Any) -> Iterator[str]:
    """Yield a message if a value is not a tensor with a single number."""
    if not tf.is_tensor(value):
        yield f"{where} must be a tensor of rank 0, got {type(value).__name__}."
    elif value.shape.rank not in (0, None):
        yield (
            f"{where} must be a tensor of rank 0, got shape {value.shape}: "
            "take tf.reduce_mean of it."
        )
    elif not (value.dtype.is_floating or value.dtype.is_integer or value.dtype.is_bool):
        yield f"{where} must be a number, got a tensor of {value.dtype.name}."


def _by_name(**given: Any) -> list[dict[str, Any]]:
    wrong = [
        f"mox.ModelSpec({field}=…) must be a dict of names and tensors, got "
        f"{'a tensor' if tf.is_tensor(value) else type(value).__name__}."
        for field, value in given.items()
        if not isinstance(value, Mapping | None)
    ]
    if wrong:
        raise TypeError("\n".join(wrong))
    return [dict(value or {}) for value in given.values()]


def _is_version(given: Any) -> bool:
    if isinstance(given, str):  # curves of evaluations are in "eval"
        return given not in ("", ".", "..", "eval") and "/" not in given
    return isinstance(given, Integral) and not isinstance(given, bool) and int(given) >= -1


def _are_scopes(given: Any) -> bool:
    if given is None or isinstance(given, str):
        return True
    return isinstance(given, list | tuple | set) and all(
        isinstance(each, str)
        or (isinstance(each, list | tuple) and all(isinstance(name, str) for name in each))
        for each in given
    )


def _flat(scopes: Any) -> list[str]:
    found: list[str] = []
    for each in scopes:
        found += [each] if isinstance(each, str) else list(each)
    return found
