"""Warm start: a process that has loaded TensorFlow waits, and each task gets a fork of it.

``waiting``: the warm process; it forks the exit monitor, which forks the script.
``script_start``: turns the fork into the process of a script, or gives a reason to start cold.
``modules``: records what loading TensorFlow changed, and hides modules until they are imported.
``env_check``: finds code that sets a variable which TensorFlow reads while it is loaded.

Design: docs/design/warm-start.md
"""

from __future__ import annotations

import os

from danlu_runtime.start import activate
from danlu_runtime.warm.modules import Recording

# Settings file of Keras in the home directory, read and written by Keras.
KERAS = os.path.join(".keras", "keras.json")
_TENSORFLOW = "1.15"  # any version with Keras 2


def wait(folder: str, key: str) -> str:
    """Load TensorFlow, then return in a forked process for each task, with its exchange directory.

    Python was started with the standard files of a script. stdout is a pipe to the server, which
    keeps its other end open while it runs. The pipe is moved to another descriptor, and a log file
    replaces it.
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
    """Return what was loaded, and the settings that Keras wrote in a temporary home directory."""
    path = os.path.join(home, KERAS)
    os.makedirs(home, exist_ok=True)
    if os.path.exists(path):
        os.remove(path)  # left by a process that was killed
    with Recording() as recording:
        import tensorflow  # noqa: F401
    with open(path, "rb") as file:
        keras = file.read()
    os.remove(path)
    os.rmdir(os.path.dirname(path))
    os.rmdir(home)
    return recording, keras
