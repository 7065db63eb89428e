"""``tf.contrib.training.HParams``: named hyper-parameters that keep their type."""

import json
import numbers
import re
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from tensorflow.python.framework import ops
from tensorflow.python.util import compat

from danlu_runtime.tf1.contrib.training import hparam_pb2  # noqa: F401
from danlu_runtime.tf1.contrib.training.hparam_pb2 import HParamDef

# Hyper-parameters written as text: ``a=1,b=[2,3],c[1]=4``.


PARAM_RE = re.compile(
    r"""
    (?P<name>[a-zA-Z][\w\.]*)      # a name
    (\[\s*(?P<index>\d+)\s*\])?    # perhaps an index
    \s*=\s*
    ((?P<val>[^,\[]*)              # one value
     |
     \[(?P<vals>[^\]]*)\])         # or several
    ($|,\s*)""",
    re.VERBOSE,
)
_BOOLS = {"true": True, "True": True, "false": False, "False": False}


def parse_values(
    values: str, type_map: Mapping[str, type], ignore_unknown: bool = False
) -> dict[str, Any]:
    """Return the values by name, each of the type ``type_map`` gives it.

    A value with an index, ``a[1]=2``, gives ``{1: 2}``.

    Raises:
        ValueError: the text cannot be read, names something twice, or something unknown.
    """
    found: dict[str, Any] = {}
    position = 0
    while position < len(values):
        match = PARAM_RE.match(values, position)
        if not match:
            raise ValueError(f"Malformed hyperparameter value: {values[position:]}")
        position = match.end()
        name = match["name"]
        if name in type_map:
            _read(_Assignment(match, type_map[name], values), found)
        elif not ignore_unknown:
            raise ValueError(f"Unknown hyperparameter type for {name}")
    return found


class _Assignment:
    """One ``name=value`` of a text."""

    def __init__(self, match: "re.Match[str]", kind: type, text: str) -> None:
        self.name = match["name"]
        self.index = match["index"]
        self.value = match["val"]
        self.values = match["vals"]
        self._kind = kind
        self._text = text

    def parse(self, value: str) -> Any:
        make: Callable[[str], Any] = _bool if self._kind is bool else self._kind
        try:
            return make(value)
        except ValueError as error:
            raise ValueError(
                f"Could not parse hparam '{self.name}' of type '{self._kind.__name__}' with "
                f"value '{value}' in {self._text}"
            ) from error

    def refuse_repetition(self, name: str) -> NoReturn:
        raise ValueError(f"Multiple assignments to variable '{name}' in {self._text}")


def _read(assignment: _Assignment, found: dict[str, Any]) -> None:
    name = assignment.name
    if assignment.value is None:
        if assignment.index is not None:
            raise ValueError("Assignment of a list to a list index.")
        if name in found:
            assignment.refuse_repetition(name)
        elements = filter(None, re.split("[ ,]", assignment.values))
        found[name] = [assignment.parse(element) for element in elements]
        return
    value = assignment.parse(assignment.value)
    if not assignment.index:
        if name in found:
            assignment.refuse_repetition(name)
        found[name] = value
        return
    by_index = found.setdefault(name, {})
    if not isinstance(by_index, dict):
        assignment.refuse_repetition(name)
    index = int(assignment.index)
    if index in by_index:
        assignment.refuse_repetition(f"{name}[{index}]")
    by_index[index] = value


def _bool(value: str) -> bool:
    return _BOOLS[value] if value in _BOOLS else bool(int(value))


_KINDS = ((bool, "bool"), (int, "int64"), ((str, bytes), "bytes"), (float, "float"))


class HParams:
    """Hyper-parameters as attributes; the first value of each fixes its type."""

    _HAS_DYNAMIC_ATTRIBUTES = True

    def __init__(self, hparam_def: Any = None, model_structure: Any = None, **kwargs: Any) -> None:
        self._hparam_types: dict[str, tuple[type, bool]] = {}
        self._model_structure = model_structure
        if hparam_def:
            if kwargs:
                raise ValueError("hparam_def and initialization values are mutually exclusive")
            kwargs = _values_of(hparam_def)
        for name, value in kwargs.items():
            self.add_hparam(name, value)

    def add_hparam(self, name: str, value: Any) -> None:
        """Add a hyper-parameter; a list or tuple must have a value, for its type."""
        if getattr(self, name, None) is not None:
            raise ValueError(f"Hyperparameter name is reserved: {name}")
        if isinstance(value, list | tuple):
            if not value:
                raise ValueError(f"Multi-valued hyperparameters cannot be empty: {name}")
            self._hparam_types[name] = (type(value[0]), True)
        else:
            self._hparam_types[name] = (type(value), False)
        setattr(self, name, value)

    def set_hparam(self, name: str, value: Any) -> None:
        """Set a hyper-parameter that is there to a value of its type."""
        kind, several = self._hparam_types[name]
        if isinstance(value, list):
            if not several:
                raise ValueError(f"Must not pass a list for single-valued parameter: {name}")
            setattr(self, name, [_cast(name, kind, each) for each in value])
        else:
            if several:
                raise ValueError(f"Must pass a list for multi-valued parameter: {name}.")
            setattr(self, name, _cast(name, kind, value))

    def del_hparam(self, name: str) -> None:
        if hasattr(self, name):
            delattr(self, name)
            del self._hparam_types[name]

    def parse(self, values: str) -> "HParams":
        """Set from text such as ``rate=0.1,units=[10,20],flag=true``; a list replaces a list."""
        kinds = {name: kind for name, (kind, _) in self._hparam_types.items()}
        return self.override_from_dict(parse_values(values, kinds))

    def override_from_dict(self, values_dict: Mapping[str, Any]) -> "HParams":
        for name, value in values_dict.items():
            self.set_hparam(name, value)
        return self

    def set_from_map(self, values_map: Mapping[str, Any]) -> "HParams":
        return self.override_from_dict(values_map)

    def parse_json(self, values_json: str) -> "HParams":
        return self.override_from_dict(json.loads(values_json))

    def set_model_structure(self, model_structure: Any) -> None:
        self._model_structure = model_structure

    def get_model_structure(self) -> Any:
        return self._model_structure

    def to_json(self, indent: Any = None, separators: Any = None, sort_keys: bool = False) -> str:
        return json.dumps(self.values(), indent=indent, separators=separators, sort_keys=sort_keys)

    def values(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._hparam_types}

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value, or the default, which must be of the value's type."""
        if key not in self._hparam_types:
            return default
        if default is not None:
            self._check_default(key, default)
        return getattr(self, key)

    def _check_default(self, key: str, default: Any) -> None:
        kind, several = self._hparam_types[key]
        shown = f"list<{kind}>" if several else str(kind)
        fault = f"Hparam '{key}' of type '{shown}' is incompatible with default={default}"
        if several != isinstance(default, list):
            raise ValueError(fault)
        try:
            for value in default if several else [default]:
                _cast(key, kind, value)
        except ValueError as error:
            raise ValueError(f"{fault}. {error}") from error

    def __contains__(self, key: str) -> bool:
        return key in self._hparam_types

    def __str__(self) -> str:
        return ",".join(f"{name}={value}" for name, value in self.values().items())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({sorted(self.values().items())!s})"

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Return the hyper-parameters as a message."""
        proto = HParamDef()
        for name, (kind, several) in self._hparam_types.items():
            field = self._get_kind_name(kind, several)
            value = getattr(self, name)
            values = list(value) if several else [value]
            if field.startswith("bytes"):
                values = [compat.as_bytes(each) for each in values]
            if several:
                getattr(proto.hparam[name], field).value.extend(values)
            else:
                setattr(proto.hparam[name], field, values[0])
        return proto

    @staticmethod
    def from_proto(hparam_def: Any, import_scope: str | None = None) -> "HParams":
        return HParams(hparam_def=hparam_def)

    @staticmethod
    def _get_kind_name(param_type: type, is_list: bool) -> str:
        for kinds, name in _KINDS:
            if issubclass(param_type, kinds):
                return f"{name}_{'list' if is_list else 'value'}"
        raise ValueError(f"Unsupported parameter type: {param_type}")


def _cast(name: str, kind: type[Any], value: Any) -> Any:
    """Return the value as ``kind``; an int may become a float, nothing becomes a bool or text."""
    if type(value) is kind or issubclass(kind, type(None)):
        return value
    fits = (
        (isinstance(value, str | bytes) or not issubclass(kind, str | bytes))
        and issubclass(kind, bool) == isinstance(value, bool)
        and (isinstance(value, numbers.Integral) or not issubclass(kind, numbers.Integral))
        and (isinstance(value, numbers.Number) or not issubclass(kind, numbers.Number))
    )
    if not fits:
        raise ValueError(f"Could not cast hparam '{name}' of type '{kind}' from value {value!r}")
    return kind(value)


def _values_of(hparam_def: Any) -> dict[str, Any]:
    if not isinstance(hparam_def, HParamDef):
        raise TypeError(f"hparam_def must be a HParamDef, got {type(hparam_def).__name__}.")
    found: dict[str, Any] = {}
    for name, typed in hparam_def.hparam.items():
        field = typed.WhichOneof("kind")
        stored = getattr(typed, field)
        values = list(stored.value) if field.endswith("_list") else [stored]
        if field.startswith("bytes"):
            values = [compat.as_str(each) for each in values]
        found[name] = values if field.endswith("_list") else values[0]
    return found


ops.register_proto_function(
    "hparams",
    proto_type=HParamDef,
    to_proto=HParams.to_proto,
    from_proto=HParams.from_proto,
)
