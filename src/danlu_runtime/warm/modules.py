"""Records which modules are loaded, which modules need them, and what loading changes besides.

A warm process hides the loaded modules from the script until the script imports them.
"""

from __future__ import annotations

import _frozen_importlib
import _thread
import _warnings  # warnings itself may not be loaded yet
import builtins
import os
import sys
from _frozen_importlib import BuiltinImporter, FrozenImporter, ModuleSpec
from _frozen_importlib_external import PathFinder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping, Sequence
    from importlib.abc import Loader
    from logging import Logger, PlaceHolder, StreamHandler
    from types import ModuleType
    from typing import Any, TypeGuard
else:
    Loader = object  # importlib.abc may not be loaded yet

# Their private functions are missing in typeshed.
_import_system: Any = _frozen_importlib
_warning_system: Any = _warnings


class HiddenModules:
    """Finder and loader of hidden modules, which comes before all other finders.

    Loaded modules are kept out of ``sys.modules`` until the script imports them. The script finds
    the process as Python starts it. ``import tensorflow`` restores all its modules and the changes
    that loading made.

    ``forget`` returns True for names of Danlu's own modules, which are never restored. ``amended``
    has the modules that must go through the finder of patched modules. ``asked`` is called with
    each name before its module is restored.
    """

    def __init__(
        self, recording: Recording, forget: Callable[[str], bool], amended: Container[str]
    ) -> None:
        self._main = sys.modules["__main__"]
        self._needs = recording.needs
        self._changes = recording.changes
        self._amended = amended
        self.asked: Callable[[str], object] | None = None
        self._lock = _thread.RLock()  # two threads may import different modules at the same time
        self._kept: dict[str, ModuleType] = {}  # in loading order
        self._all = dict(sys.modules)  # while a module is restored, sys.modules has an empty one
        self._bound: set[str] = set()  # modules that are attributes of their package
        recording.forget()
        for name, module in self._all.items():
            if forget(name):
                self._hide(name, module)
            elif name not in recording.before:
                self._hide(name, module)
                self._kept[name] = module
        lock = self._lock
        os.register_at_fork(
            before=lock.acquire, after_in_child=lock.release, after_in_parent=lock.release
        )

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        module = self._kept.get(name)
        spec = None if module is None else self._as_found(name, path, module)
        if spec is not None:
            spec.loader = _Giving(self, spec.loader)
        return spec

    def give(self, module: ModuleType) -> None:
        """Restore the real module in place of ``module``, and all modules that its loading needed.

        If a module is not loaded by an import statement, but by hand or on first use, ``module``
        gets the content of the real one.
        """
        name = module.__name__
        if self.asked is not None:
            self.asked(name)
        with self._lock:
            needed = self._needed(name)
            later = [one for one in needed if one in self._amended and one != name]
            self._change(set(needed))
            for one in needed:
                if one in sys.modules and one != name:
                    del self._kept[one]  # the script has put another module there or is loading it
                elif one not in later and one != name:
                    self._put(one)
            if getattr(module.__spec__, "_initializing", False):
                self._put(name)
            else:
                module.__dict__.update(getattr(self._all[name], "__dict__", {}))
        for one in later:
            if sys.modules.get(one, module) is not None:  # None: the script forbids the import
                __import__(one)

    def _hide(self, name: str, module: ModuleType) -> None:
        del sys.modules[name]
        package, _, last = name.rpartition(".")
        names = self._names(package)
        if names.get(last) is module:
            del names[last]
            self._bound.add(name)

    def _put(self, name: str) -> None:
        self._kept.pop(name, None)  # another thread may have removed it
        module = self._all[name]
        # The name that multiprocessing gives the script (__mp_main__).
        sys.modules[name] = sys.modules["__main__"] if module is self._main else module
        if name in self._bound:
            package, _, last = name.rpartition(".")
            self._names(package).setdefault(last, module)

    def _names(self, package: str) -> dict[str, Any]:
        return getattr(self._all.get(package), "__dict__", {})

    def _change(self, owners: set[str]) -> None:
        for change in self._changes:
            if change.owner in owners:
                change.make()
        self._changes = [change for change in self._changes if change.owner not in owners]

    def _needed(self, name: str) -> Iterable[str]:
        found: set[str] = set()
        queue = [name]
        while queue:
            for one in _with_packages(queue.pop()):
                if one in self._kept and one not in found:
                    found.add(one)
                    queue += self._needs.get(one, ())
        return [one for one in self._kept if one in found]

    def _as_found(
        self, name: str, path: Sequence[str] | None, module: ModuleType
    ) -> ModuleSpec | None:
        """Return the spec with which the import system finds this module now.

        None means that the script has its own module of this name.
        """
        real = getattr(module, "__spec__", None)
        loader, origin = getattr(real, "loader", None), getattr(real, "origin", None)
        if loader not in (None, BuiltinImporter, FrozenImporter):
            found = PathFinder.find_spec(name, path)
            if found is not None and found.origin == origin:
                return found
            folders = self._names(name.rpartition(".")[0]).get("__path__")
            if not path or not folders or set(path).isdisjoint(folders):
                return None
        return ModuleSpec(name, loader, origin=origin, is_package=True)


class _Giving(Loader):
    """Loader that restores a hidden module; all other attributes are those of the real loader."""

    def __init__(self, hidden: HiddenModules, real: Loader | None) -> None:
        self._hidden = hidden
        self._real = real

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        self._hidden.give(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def _with_packages(name: str) -> Iterable[str]:
    parts = name.split(".")
    return [".".join(parts[: end + 1]) for end in range(len(parts))]


_TENSORFLOW = "tensorflow.python.platform.tf_logging"


def made() -> dict[str, Logger | PlaceHolder]:
    """Return all loggers by name, including placeholders."""
    manager = getattr(getattr(sys.modules.get("logging"), "root", None), "manager", None)
    return {} if manager is None else dict(manager.loggerDict)


def to_standard_files() -> list[tuple[StreamHandler[Any], str]]:
    """Return the handlers that write to a current standard file, with the name of the file."""
    references = getattr(sys.modules.get("logging"), "_handlerList", ())
    files = {id(getattr(sys, name)): name for name in ("stdout", "stderr")}
    handlers = [one for one in (reference() for reference in references) if one is not None]
    return [
        (one, files[id(vars(one)["stream"])])
        for one in handlers
        if id(vars(one).get("stream")) in files
    ]


def give(loggers: Iterable[Logger], handlers: Iterable[tuple[StreamHandler[Any], str]]) -> None:
    """Register loggers, and make handlers write to the current standard files."""
    for logger in loggers:
        logger.manager.getLogger(logger.name)
    for handler, file in handlers:
        handler.stream = getattr(sys, file)


def put_aside(loggers: Iterable[Logger]) -> None:
    """Remove all loggers; ``getLogger`` returns one of ``loggers`` again by its name.

    A script that configures ``logging`` first disables all existing loggers. Libraries check the
    configuration when they create theirs.
    """
    aside = {logger.name: logger for logger in loggers}
    logging: Any = sys.modules.get("logging")
    if logging is None:
        return

    def get(name: str) -> Logger:
        logger: Any = aside.pop(name, None) or logging._loggerClass(name)
        logger._cache.clear()  # of levels that were set since
        return logger

    manager = logging.root.manager
    manager.loggerDict.clear()
    manager.loggerClass = get


def configure_again() -> tuple[str, Logger, Callable[[], object]] | None:
    """Forget TensorFlow's logger; return its module, the logger, and its factory function.

    The logger gets its own handler only if the script has not configured ``logging`` before.
    """
    module: Any = sys.modules.get(_TENSORFLOW)
    if module is None or module._logger is None:
        return None
    logger, module._logger = module._logger, None
    return _TENSORFLOW, logger, module.get_logger


class Change:
    """Process-wide changes made by loading a module."""

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.variables: dict[str, str | None] = {}  # None: removed
        self.filters: list[tuple[int, Any]] = []  # warnings filters with their positions
        self.finders: list[tuple[int, Any]] = []
        self.files: dict[str, bytes] = {}  # files in the home directory, written if missing
        self.loggers: list[Logger] = []
        self.handlers: list[tuple[StreamHandler[Any], str]] = []  # with their standard files
        self.calls: list[Callable[[], object]] = []  # functions that restore the remaining changes

    def __bool__(self) -> bool:
        return any(vars(self)[name] for name in vars(self) if name != "owner")

    def make(self) -> None:
        for name, value in self.variables.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        _insert(_warnings.filters, self.filters)
        _warning_system._filters_mutated()
        _insert(sys.meta_path, self.finders)
        for name, data in self.files.items():
            _leave_file(os.path.join(os.path.expanduser("~"), name), data)
        give(self.loggers, self.handlers)
        for call in self.calls:
            call()


class Recording:
    """Record of the modules loaded in a ``with`` block, used once and in one thread."""

    def __init__(self) -> None:
        self.before = set(sys.modules)
        self.needs: dict[str, set[str]] = {}
        self.changes: list[Change] = []  # in the order of the changes
        self.filters = list(_warnings.filters)
        self.finders = list(sys.meta_path)
        self._known = set(sys.modules)
        self._variables = dict(os.environ)
        self._filters = self.filters
        self._finders = self.finders
        self._loggers: dict[str, Logger | PlaceHolder] = {}
        self._handlers: set[int] = set()
        self._loading = [""]

    def __enter__(self) -> Recording:
        self._load, self._import = _import_system._find_and_load, builtins.__import__
        _import_system._find_and_load = self._find_and_load
        builtins.__import__ = self._note_import
        return self

    def __exit__(self, *_: object) -> None:
        _import_system._find_and_load, builtins.__import__ = self._load, self._import

    def forget(self) -> None:
        """Undo those changes of loading that would be visible without the loaded modules."""
        self._configure_again()
        put_aside(one for change in self.changes for one in change.loggers)
        _warnings.filters[:] = self.filters
        _warning_system._filters_mutated()
        sys.meta_path[:] = self.finders

    def _configure_again(self) -> None:
        again = configure_again()
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
            return self._load(name, import_)
        finally:
            self._settle()
            self._loading.pop()

    def _note_import(
        self,
        name: str,
        globals: Mapping[str, object] | None = None,
        locals: Mapping[str, object] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        module = self._import(name, globals, locals, fromlist, level)
        whole = name if level == 0 else getattr(module, "__name__", name)
        importer = str((globals or {}).get("__name__", ""))
        if importer not in self._loading:
            importer = ""  # an import in a function, which runs again on use, or in a C module
        self._note(whole, importer)
        for item in fromlist or ():
            if f"{whole}.{item}" in sys.modules:
                self._note(f"{whole}.{item}", importer)
        return module

    def _note(self, name: str, importer: str = "") -> None:
        for one in {importer, self._loading[-1]}:
            self.needs.setdefault(one, set()).add(name)

    def _settle(self) -> None:
        """Attribute all new modules and changes to the module that is being loaded."""
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
        loggers, handlers = made(), to_standard_files()
        new = [one for name, one in loggers.items() if self._loggers.get(name) is not one]
        change.loggers = [one for one in new if _is_logger(one)]
        change.handlers = [one for one in handlers if id(one[0]) not in self._handlers]
        self._loggers, self._handlers = loggers, {id(one) for one, _ in handlers}


def _is_logger(one: Logger | PlaceHolder) -> TypeGuard[Logger]:
    """Return True unless it is a placeholder; logging may not be loaded for its class."""
    return hasattr(one, "handlers")


def _inserted(before: list[Any], after: list[Any]) -> list[tuple[int, Any]]:
    """Return the new items with their positions.

    A position is counted from the start, or negative and counted from the end.
    """
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
        pass  # exists already or is not writable; the library works without it, too
