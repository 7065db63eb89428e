"""Writes down what is loaded, who asked for it, and what the loading changes besides."""

from __future__ import annotations

import _frozen_importlib
import _warnings  # warnings itself may not be loaded yet
import builtins
import os
import sys

from danlu_runtime.warm import logs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any


class Change:
    """Something that the loading of a module changed for the whole process."""

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.variables: dict[str, str | None] = {}  # None: taken away
        self.filters: list[tuple[int, Any]] = []  # of warnings, with their places
        self.finders: list[tuple[int, Any]] = []
        self.files: dict[str, bytes] = {}  # in the home, where they are not there
        self.loggers: list[Any] = []
        self.handlers: list[tuple[Any, str]] = []  # of logging, with their standard files
        self.calls: list[Callable[[], object]] = []  # that settle the rest

    def __bool__(self) -> bool:
        return any(vars(self)[name] for name in vars(self) if name != "owner")

    def make(self) -> None:
        for name, value in self.variables.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        _insert(_warnings.filters, self.filters)
        _warnings._filters_mutated()
        _insert(sys.meta_path, self.finders)
        for name, data in self.files.items():
            _leave_file(os.path.join(os.path.expanduser("~"), name), data)
        logs.give(self.loggers, self.handlers)
        for call in self.calls:
            call()


class Recording:
    """Of one thread, and once: what is loaded between ``with`` and its end."""

    def __init__(self) -> None:
        self.before = set(sys.modules)
        self.needs: dict[str, set[str]] = {}
        self.changes: list[Change] = []  # in the order they were made
        self.filters = list(_warnings.filters)
        self.finders = list(sys.meta_path)
        self._known = set(sys.modules)
        self._variables = dict(os.environ)
        self._filters = self.filters
        self._finders = self.finders
        self._loggers: dict[str, Any] = {}
        self._handlers: set[int] = set()
        self._loading = [""]

    def __enter__(self) -> Recording:
        self._load, self._import = _frozen_importlib._find_and_load, builtins.__import__
        _frozen_importlib._find_and_load = self._find_and_load
        builtins.__import__ = self._note_import
        return self

    def __exit__(self, *_: object) -> None:
        _frozen_importlib._find_and_load, builtins.__import__ = self._load, self._import

    def forget(self) -> None:
        """Take back what loading has changed where it would be seen without its modules."""
        self._configure_again()
        logs.put_aside(one for change in self.changes for one in change.loggers)
        _warnings.filters[:] = self.filters
        _warnings._filters_mutated()
        sys.meta_path[:] = self.finders

    def _configure_again(self) -> None:
        again = logs.configure_again()
        if again is None:
            return
        owner, logger, configure = again
        for change in self.changes:
            change.loggers = [one for one in change.loggers if one is not logger]
        change = Change(owner)
        change.calls.append(configure)
        self.changes.append(change)

    def _find_and_load(self, name: str, import_: Any) -> ModuleType:
        self._settle()
        self._note(name)
        self._loading.append(name)
        try:
            return self._load(name, import_)  # type: ignore[no-any-return]
        finally:
            self._settle()
            self._loading.pop()

    def _note_import(
        self, name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
    ) -> ModuleType:
        module = self._import(name, globals, locals, fromlist, level)
        whole = name if level == 0 else getattr(module, "__name__", name)
        who = (globals or {}).get("__name__", "")
        if who not in self._loading:
            who = ""  # a function asks on use, and will ask again; or a module in C
        self._note(whole, who)
        for item in fromlist or ():
            if f"{whole}.{item}" in sys.modules:
                self._note(f"{whole}.{item}", who)
        return module

    def _note(self, name: str, who: str = "") -> None:
        for one in {who, self._loading[-1]}:
            self.needs.setdefault(one, set()).add(name)

    def _settle(self) -> None:
        """Put down what is new to the account of the module that is being loaded."""
        for name in [name for name in sys.modules if name not in self._known]:
            self._known.add(name)
            self._note(name)
        change = Change(self._loading[-1])
        variables, filters, finders = dict(os.environ), list(_warnings.filters), [*sys.meta_path]
        if variables != self._variables:
            for name in {*variables, *self._variables}:
                if variables.get(name) != self._variables.get(name):
                    change.variables[name] = variables.get(name)
        if filters != self._filters:
            change.filters = _inserted(self._filters, filters)
        if finders != self._finders:
            change.finders = _inserted(self._finders, finders)
        self._variables, self._filters, self._finders = variables, filters, finders
        self._settle_logs(change)
        if change:
            self.changes.append(change)

    def _settle_logs(self, change: Change) -> None:
        loggers, handlers = logs.made(), logs.to_standard_files()
        new = [one for name, one in loggers.items() if self._loggers.get(name) is not one]
        change.loggers = [one for one in new if hasattr(one, "handlers")]  # and no mere place
        change.handlers = [one for one in handlers if id(one[0]) not in self._handlers]
        self._loggers, self._handlers = loggers, {id(one) for one, _ in handlers}


def _inserted(before: list[Any], after: list[Any]) -> list[tuple[int, Any]]:
    """Return what is new and where: counted from the start, or else below zero from the end."""
    new: list[tuple[int, Any]] = []
    for number, one in enumerate(after):
        if one not in before:
            at_start = len(new) == number
            new.append((number if at_start else number - len(after), one))
    return new


def _insert(into: list[Any], new: list[tuple[int, Any]]) -> None:
    for place, one in new:
        if place >= 0:
            into.insert(place, one)
    for place, one in reversed(new):
        if place < 0:
            into.insert(len(into) + 1 + place, one)


def _leave_file(path: str, data: bytes) -> None:
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "xb") as file:
            file.write(data)
    except OSError:
        pass  # there already, or not to be written: the library goes on without it, too
