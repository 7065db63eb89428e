"""Makes ``tf.flags`` as tolerant as in TensorFlow 1.

Undefined flags are ignored, because the platform passes its own. A flag that is defined a second
time is replaced: absl defines ``log_dir`` and ``v``, and a script that imports itself defines all
its flags twice. ``FLAGS.__flags`` and ``FLAGS._parse_flags`` exist. A flag defined after parsing
gets its value from the command line. As in TensorFlow before 1.5, an assignment to ``FLAGS.new``
defines a flag, and a default may be a number of NumPy. A float flag kept an int default there.

Written for absl-py 2 and TensorFlow 2.21, which parses strictly on first use.
"""

import copy
import sys
from collections.abc import Sequence
from typing import Any

from danlu_runtime.reports import arguments
from danlu_runtime.start.activate import version_seen

_ABSL_SINCE = (1, 5)  # the first TensorFlow whose flags were those of absl
_PARSED = "__danlu_parsed"  # key in the __dict__ of FlagValues: the arguments parsed last


def tolerate() -> None:
    _remember_arguments()
    _allow_redefinition()
    _accept_defaults()
    _parse_known_flags_only()


def _remember_arguments() -> None:
    from absl.flags import FlagValues, _flagvalues

    arguments.amend_absl(_flagvalues)
    parse = FlagValues.__call__

    def parse_and_remember(self: Any, argv: Sequence[str], known_only: bool = False) -> list[str]:
        rest = parse(self, argv, known_only)
        self.__dict__[_PARSED] = tuple(argv)
        return rest

    FlagValues.__call__ = parse_and_remember


def _allow_redefinition() -> None:
    from absl.flags import FlagValues

    define = FlagValues.__setitem__

    def define_again(self: Any, name: str, flag: Any) -> None:
        flag.allow_override = True
        define(self, name, flag)
        # absl itself leaves a flag that is defined after parsing at its default.
        late = self.is_parsed() and self[name] is flag
        if late and _is_given(flag, self.__dict__.get(_PARSED, ())):
            _parse_late(self, flag)

    FlagValues.__setitem__ = define_again


def _is_given(flag: Any, argv: Sequence[str]) -> bool:
    names = {flag.name, f"no{flag.name}", flag.short_name, "flagfile"}
    return any(
        word.startswith("-") and word.lstrip("-").partition("=")[0] in names for word in argv[1:]
    )


def _parse_late(values: Any, flag: Any) -> None:
    """Give one flag its value from the command line; all other flags are unchanged.

    The other flags are parsed as copies. ``--other 5 --late 3`` is read to its end only if
    ``other`` is known to take a value. The script may have assigned to them since they were parsed.
    """
    from absl.flags import FlagValues

    scratch = FlagValues()
    for name in values:
        if values[name] is not flag:
            scratch[name] = copy.deepcopy(values[name])
    scratch[flag.name] = flag
    scratch(list(values.__dict__[_PARSED]), known_only=True)


def _accept_defaults() -> None:
    from absl.flags import Flag, FloatParser

    parse = Flag._parse_from_default
    keeps_int = _version() < _ABSL_SINCE

    def parse_default(self: Any, value: Any) -> Any:
        if hasattr(value, "item") and getattr(value, "size", 1) == 1:
            value = value.item()
        if keeps_int and isinstance(self.parser, FloatParser) and type(value) is int:
            return value
        return parse(self, value)

    Flag._parse_from_default = parse_default


def _version() -> tuple[int, ...]:
    return tuple(int(part) for part in version_seen().split(".")[:2] if part.isdigit())


def _parse_known_flags_only() -> None:
    from absl.flags import ArgumentParser, Flag
    from tensorflow.python.platform import flags

    wrapper = flags._FlagValuesWrapper
    read = wrapper.__getattribute__

    def get(self: Any, name: str) -> Any:
        if name == "__flags":
            values = self.__dict__["__wrapped"]
            _parse_once(values)
            return {flag: _ShownFlag(values[flag]) for flag in values}
        if name == "_parse_flags":
            return lambda args=None: self.__dict__["__wrapped"](args or sys.argv, known_only=True)
        return read(self, name)

    def get_flag(self: Any, name: str) -> Any:
        values = self.__dict__["__wrapped"]
        _parse_once(values)
        return values.__getattr__(name)

    def set_flag(self: Any, name: str, value: Any) -> None:
        values = self.__dict__["__wrapped"]
        if name not in values:
            values[name] = Flag(ArgumentParser(), None, name, None, "set by the script")
        setattr(values, name, value)

    wrapper.__getattribute__ = get
    wrapper.__getattr__ = get_flag
    wrapper.__setattr__ = set_flag


def _parse_once(values: Any) -> None:
    if not values.is_parsed():
        values(sys.argv, known_only=True)


class _ShownFlag:
    """A flag that prints as its value, like the plain values of TensorFlow 1.4."""

    def __init__(self, flag: Any) -> None:
        self._flag = flag

    def __getattr__(self, name: str) -> Any:
        return getattr(self._flag, name)

    def __str__(self) -> str:
        return str(self._flag.value)

    __repr__ = __str__

    def __format__(self, how: str) -> str:
        return format(self._flag.value, how)
