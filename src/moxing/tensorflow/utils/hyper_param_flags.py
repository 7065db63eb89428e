"""``mox_flags``: the flags of MoXing, read from the command line when one of them is asked for.

They are not in ``tf.flags``: scripts define flags of the same names there, and read them while
other modules are still being imported.
"""

import logging
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from danlu.errors import suggestion
from moxing.tensorflow.utils.flag_table import GROUPS, Flag, Value
from moxing.tensorflow.utils.flag_values import BARE, convert, given

log = logging.getLogger("moxing")


class HyperParamFlags:
    """Flags as attributes. ``argv`` is what follows the script's name; None: that of the process.

    A value is looked at when it is read, so a script may have a flag of its own of the same name
    and another type.
    """

    def __init__(self, flags: Iterable[Flag], argv: Sequence[str] | None = None) -> None:
        state = {"_flags": {flag.name: flag for flag in flags}, "_argv": argv}
        self.__dict__.update(state, _line=None, _set={}, _said=set())

    def __iter__(self) -> Iterator[str]:
        return iter(self._flags)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._flags]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked by Python itself: copy, pickle
            raise AttributeError(name)
        flag = self._flag(name)
        line = self._command_line()
        return self._set[name] if name in self._set else convert(flag, line.get(name))

    def __setattr__(self, name: str, value: Any) -> None:
        flag = self._flag(name)
        self._set[name] = convert(flag, value, dashes="")
        self._say_if_unused(flag, self._set[name])

    def get_help(self) -> str:
        """Return a text of every flag, its default and its meaning."""
        lines = [f"--{f.name} ({f.type.__name__}, {f.default!r})" for f in self._flags.values()]
        width = max(len(line) for line in lines)
        return "\n".join(
            f"{line:<{width}}  {flag.help}{'' if flag.used else ' Accepted, not used.'}"
            for line, flag in zip(lines, self._flags.values(), strict=True)
        )

    def unknown(self, name: str) -> str:
        """Return the sentence about a name that is no flag."""
        near = suggestion(name, self._flags)
        hint = near if near.startswith("Did") else "mox_flags.get_help() lists them."
        return f"MoXing has no flag {name!r}. {hint}"

    def forget(self) -> None:
        """Take every value from the command line again, as at the start of the process."""
        self.__dict__.update(_line=None, _set={}, _said=set())

    def _flag(self, name: str) -> Flag:
        if name in self._flags:
            return self._flags[name]
        raise AttributeError(self.unknown(name))

    def _command_line(self) -> dict[str, str]:
        if self._line is None:
            argv = sys.argv[1:] if self._argv is None else self._argv
            self.__dict__["_line"] = given(self._flags, argv)
            for name, text in self._line.items():
                if text != BARE:
                    self._say_if_unused(self._flags[name], text)
        return self._line

    def _say_if_unused(self, flag: Flag, value: Value) -> None:
        agreed = {"", *map(str, flag.agreed)}
        if not flag.used and str(value) not in agreed and flag.name not in self._said:
            self._said.add(flag.name)
            log.info("--%s=%s is accepted for compatibility, not used.", flag.name, value)


mox_flags = HyperParamFlags(flag for group in GROUPS.values() for flag in group)
