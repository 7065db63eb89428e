"""Danlu runs training scripts of five retired cloud services on current TensorFlow.

``connect`` returns a client; it is imported on first use. ARCHITECTURE.md describes the layers.

``errors``, ``messages``, ``settings``: exceptions, texts in two languages, settings.
``atomic_file``: writes a file as a whole or not at all.
``job``, ``usercode``: the job model; what can be read from a script before it runs.
``taskdir``, ``storage``, ``sandbox``: files of a task, object stores, isolation on Linux.
``dialects``, ``executors``, ``records``: formats of the services, running tasks, the database.
``agent``: the process beside each script.
``service``, ``server``, ``client``, ``cli``: all operations, REST, HTTP client, command line.
"""

# Not from typing: every Python of a task imports this first, and a script may have a module of
# that name, or of one that typing needs.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from danlu.client import connect

__all__ = ["__version__", "connect"]
__version__ = "0.1.0"


def __getattr__(name: str) -> "Any":
    if name == "connect":
        from danlu.client import connect

        return connect
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
