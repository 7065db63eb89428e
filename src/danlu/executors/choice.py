"""Which executor runs the tasks: by the settings, or because ``danlu up --ray`` was said."""

from collections.abc import Callable
from dataclasses import replace

from danlu.executors.api import Executor
from danlu.executors.ray.access import check_installed, own_head
from danlu.settings import Settings


def chosen(settings: Settings) -> Settings:
    """Return the settings with the executor that is meant: a head of our own is to be used."""
    return replace(settings, executor="ray") if own_head(settings) else settings


def open_executor(settings: Settings, wake: Callable[[], None]) -> Executor:
    """Return the executor of the settings. ``wake`` is called when an agent has left.

    Raises:
        Refused: what it needs is not installed, or not set.
    """
    if settings.executor == "ray":
        from danlu.executors.ray.executor import RayExecutor

        check_installed()
        return RayExecutor(settings)
    from danlu.executors.local import LocalExecutor
    from danlu.executors.warm import waiting_processes

    return LocalExecutor(settings, wake=wake, waiting=waiting_processes(settings))
