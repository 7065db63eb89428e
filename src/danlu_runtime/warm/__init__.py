"""A process that has loaded TensorFlow waits, and every task gets a fork of it.

    recording.py what is loaded, and what that changes
    logs.py      loggers among it
    waiting.py   the waiting process
    keeper.py    the parent of one script
    become.py    a fork becomes the process of a script
    shelf.py     modules that are loaded and not asked for yet
    refusal.py   why a script cannot have such a process
    variables.py those of them that are read while TensorFlow is loaded
    image.py     how it looks from outside

docs/design/warm-start.md says why this is sound, and what it costs.
"""

from __future__ import annotations

import os

from danlu_runtime import activate
from danlu_runtime.warm.recording import Recording

KERAS = os.path.join(".keras", "keras.json")  # in the home: settings that Keras reads and writes
_TENSORFLOW = "1.15"  # any version that comes with Keras 2


def wait(folder: str, key: str) -> str:
    """Load everything, then return in a process of its own for each task: with its box.

    Python has been started with the standard files a script has: the output is a pipe, whose
    other end the server holds as long as it lives. It is set aside, and a log takes its place.
    """
    server = os.dup(1)
    log = os.open(os.path.join(folder, f"{key}.log"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)
    activate.settle(_TENSORFLOW)
    activate.leave_last()
    recording, keras = _load(os.environ["HOME"])
    from danlu_runtime.warm import waiting

    return waiting.serve(folder, key, server, recording, keras)


def _load(home: str) -> tuple[Recording, bytes]:
    """Return what was loaded, and what Keras wrote down as its settings in a home of its own."""
    path = os.path.join(home, KERAS)
    os.makedirs(home, exist_ok=True)
    if os.path.exists(path):
        os.remove(path)  # of one that was killed
    with Recording() as recording:
        import tensorflow  # noqa: F401
    with open(path, "rb") as file:
        keras = file.read()
    os.remove(path)
    os.rmdir(os.path.dirname(path))
    os.rmdir(home)
    return recording, keras
