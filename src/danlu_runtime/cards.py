"""Keeps a script to the cards of its task: ``CUDA_VISIBLE_DEVICES`` means the task's own.

A script that sets the variable meant the cards of a machine it had for itself. It reads back what
it has written; CUDA, which looks at the environment of the process, is told of the task's card.
"""

import os

from danlu.job.cards import NAME, OWN, within

_NAME = os.fsencode(NAME)


def keep_to_own() -> None:
    """Do so from now on, for what was set already too.

    The task may come later: a process that waits for one has no cards yet.
    """
    if getattr(os.putenv, "danlu", False):
        return
    put, unset = os.putenv, os.unsetenv

    def put_own(name: str | bytes, value: str | bytes, /) -> None:
        own = os.environ.get(OWN)
        if own is not None and os.fsencode(name) == _NAME:
            value = within(own, os.fsdecode(value))
        put(name, value)

    def unset_own(name: str | bytes, /) -> None:
        own = os.environ.get(OWN)
        if own is not None and os.fsencode(name) == _NAME:
            put(name, own)
        else:
            unset(name)

    put_own.danlu = True  # type: ignore[attr-defined]
    os.putenv, os.unsetenv = put_own, unset_own
    if NAME in os.environ:
        os.environ[NAME] = os.environ[NAME]


def seen() -> str | None:
    """Return the devices CUDA would be told of in this process; None: nobody said."""
    shown = os.environ.get(NAME)
    own = os.environ.get(OWN)
    if own is None:
        return shown
    return own if shown is None else within(own, shown)
