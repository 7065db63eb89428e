"""What callbacks and histories are asked for: ``acc`` and ``accuracy`` are one metric.

Keras before 2.3 and TensorFlow 1 call it ``acc``, later ones ``accuracy``. It keeps the name that
the version asked for gives it; a script that asks for the other is understood.
"""

import functools
from typing import Any

_SHORT, _LONG = "acc", "accuracy"


class Logs(dict[str, Any]):
    """Metrics by name, found under the other name of accuracy too."""

    def __missing__(self, name: str) -> Any:
        other = _other(name)
        if other != name and dict.__contains__(self, other):
            return self[other]
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        return dict.__contains__(self, name) or dict.__contains__(self, _other(name))

    def get(self, name: str, default: Any = None) -> Any:
        try:
            return self[name]
        except KeyError:
            return default


def _other(name: object) -> str:
    text = str(name)
    if text.endswith(_LONG):
        return text.removesuffix(_LONG) + _SHORT
    return text.removesuffix(_SHORT) + _LONG if text.endswith(_SHORT) else text


def accept() -> None:
    from tf_keras.src.callbacks import CallbackList, History, ModelCheckpoint

    process, begin, path = (
        CallbackList._process_logs,
        History.__init__,
        ModelCheckpoint._get_file_path,
    )

    @functools.wraps(process)
    def _process_logs(self: Any, *args: Any, **kwargs: Any) -> Any:
        logs = process(self, *args, **kwargs)
        return Logs(logs) if type(logs) is dict else logs

    @functools.wraps(begin)
    def __init__(self: Any) -> None:
        begin(self)
        self.history = Logs()

    @functools.wraps(path)
    def _get_file_path(self: Any, epoch: int, batch: Any, logs: Any) -> Any:
        both = {_other(name): value for name, value in (logs or {}).items()} | dict(logs or {})
        return path(self, epoch, batch, both)

    CallbackList._process_logs = _process_logs
    History.__init__ = __init__
    ModelCheckpoint._get_file_path = _get_file_path
