"""Which GPUs this process may use."""

from __future__ import annotations

import os

from danlu.job.gpus import NAME, OWN, within

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _typeshed import StrOrBytesPath

_NAME = os.fsencode(NAME)


def keep_to_own() -> None:
    """Restrict ``CUDA_VISIBLE_DEVICES`` to the GPUs of the task, also if it is set already.

    A script that sets the variable was written for the GPUs of a whole machine. It reads back the
    value that it has written. CUDA reads the process environment and gets the task's GPUs. The
    task's GPUs are read on each change, because a warm process has no GPUs yet.
    """
    if getattr(os.putenv, "danlu", False):
        return
    put, unset = os.putenv, os.unsetenv

    def put_own(name: StrOrBytesPath, value: StrOrBytesPath, /) -> None:
        own = os.environ.get(OWN)
        if own is not None and os.fsencode(name) == _NAME:
            value = within(own, os.fsdecode(value))
        put(name, value)

    def unset_own(name: StrOrBytesPath, /) -> None:
        own = os.environ.get(OWN)
        if own is not None and os.fsencode(name) == _NAME:
            put(name, own)
        else:
            unset(name)

    put_own.danlu = True  # type: ignore[attr-defined]  # marks it for the check above
    os.putenv, os.unsetenv = put_own, unset_own
    if NAME in os.environ:
        os.environ[NAME] = os.environ[NAME]


def seen() -> str | None:
    """Return the devices that CUDA may use in this process, None if not set."""
    shown = os.environ.get(NAME)
    own = os.environ.get(OWN)
    if own is None:
        return shown
    return own if shown is None else within(own, shown)


def has_gpu() -> bool:
    """Return True if this process may use a GPU.

    The driver is not called, because it would initialise devices in this process.
    """
    shown = seen()
    hidden = shown is not None and (not shown.strip() or shown.strip().startswith("-"))
    return not hidden and is_there()


def is_there() -> bool:
    """Return True if this machine has a GPU, whatever process may use it."""
    import glob  # A script must find only the modules that Python itself has loaded.

    return bool(glob.glob("/dev/nvidia[0-9]*"))
