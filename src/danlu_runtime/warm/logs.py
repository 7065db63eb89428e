"""Loggers that were made while modules were loaded: out of sight until these are asked for.

A script that configures ``logging`` first disables every logger there is, and libraries look at
what it has configured when they make their own: so a process must have none of theirs by then.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from logging import Handler, Logger
    from typing import Any

_TENSORFLOW = "tensorflow.python.platform.tf_logging"


def made() -> dict[str, Any]:
    """Return every logger there is now, by its name; places of loggers to come, too."""
    manager = getattr(getattr(sys.modules.get("logging"), "root", None), "manager", None)
    return {} if manager is None else dict(manager.loggerDict)


def to_standard_files() -> list[tuple[Handler, str]]:
    """Return the handlers that hold a standard file as it is now, and which one."""
    references = getattr(sys.modules.get("logging"), "_handlerList", ())
    files = {id(getattr(sys, name)): name for name in ("stdout", "stderr")}
    handlers = [one for one in (reference() for reference in references) if one is not None]
    return [
        (one, files[id(vars(one)["stream"])])
        for one in handlers
        if id(vars(one).get("stream")) in files
    ]


def give(loggers: Iterable[Logger], handlers: Iterable[tuple[Handler, str]]) -> None:
    """Let loggers be found, and handlers write to where the standard files lead now."""
    for logger in loggers:
        logger.manager.getLogger(logger.name)
    for handler, file in handlers:
        handler.stream = getattr(sys, file)  # type: ignore[attr-defined]


def put_aside(loggers: Iterable[Logger]) -> None:
    """Let there be no logger. Who asks for one of these by its name gets it, and not another."""
    aside = {logger.name: logger for logger in loggers}
    logging: Any = sys.modules.get("logging")
    if logging is None:
        return

    def get(name: str) -> Logger:
        logger: Logger = aside.pop(name, None) or logging._loggerClass(name)
        logger._cache.clear()  # type: ignore[attr-defined]  # of levels that were set since
        return logger

    manager = logging.root.manager
    manager.loggerDict.clear()
    manager.loggerClass = get


def configure_again() -> tuple[str, Logger, Callable[[], object]] | None:
    """Forget TensorFlow's own logger; return whose it is, that one, and how another is made.

    It gets a handler of its own only where the script has not configured ``logging`` before.
    """
    module: Any = sys.modules.get(_TENSORFLOW)
    if module is None or module._logger is None:
        return None
    logger, module._logger = module._logger, None
    return _TENSORFLOW, logger, module.get_logger
