"""``tf.flags`` as TensorFlow 1 had it: forgiving.

A flag nobody defined is left alone (the platform passes its own), a flag that is defined a second
time is replaced (absl owns ``log_dir`` and ``v``; a script that imports itself defines all of its
flags twice), and ``FLAGS.__flags`` and ``FLAGS._parse_flags`` are there.
For absl-py 2 and TensorFlow 2.21, whose implicit parsing is strict.
"""

import sys
from typing import Any


def tolerate() -> None:
    _allow_redefinition()
    _parse_known_flags_only()


def _allow_redefinition() -> None:
    from absl.flags import FlagValues

    define = FlagValues.__setitem__

    def define_again(self: Any, name: str, flag: Any) -> None:
        flag.allow_override = True
        define(self, name, flag)

    FlagValues.__setitem__ = define_again  # type: ignore[method-assign]


def _parse_known_flags_only() -> None:
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

    wrapper.__getattribute__ = get
    wrapper.__getattr__ = get_flag


def _parse_once(values: Any) -> None:
    if not values.is_parsed():
        values(sys.argv, known_only=True)


class _ShownFlag:
    """A flag that prints as its value, as the plain values of TensorFlow 1.4 did."""

    def __init__(self, flag: Any) -> None:
        self._flag = flag

    def __getattr__(self, name: str) -> Any:
        return getattr(self._flag, name)

    def __str__(self) -> str:
        return str(self._flag.value)

    __repr__ = __str__

    def __format__(self, how: str) -> str:
        return format(self._flag.value, how)
