"""``tf.contrib.training.HParams``: named hyper-parameters that keep their type."""

import json
import numbers
from collections.abc import Mapping
from typing import Any

from tensorflow.python.framework import ops
from tensorflow.python.util import compat

from danlu_runtime.tf1.contrib.training import hparam_pb2
from danlu_runtime.tf1.contrib.training.hparam_pb2 import HParamDef
from danlu_runtime.tf1.contrib.training.hparam_text import PARAM_RE, parse_values

__all__ = ["PARAM_RE", "HParamDef", "HParams", "hparam_pb2", "parse_values"]

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


def _cast(name: str, kind: type, value: Any) -> Any:
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
