"""Event files as TensorFlow writes them, by tensorboard's own record writer."""

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

# Else tensorboard would load TensorFlow into the process of the tests.
sys.modules.setdefault("tensorboard.compat.notf", ModuleType("tensorboard.compat.notf"))


class Writer:
    """``simple``: as TensorFlow 1 writes numbers; else as TensorFlow 2 does."""

    def __init__(self, path: Path, *, simple: bool = True, began: float = 1000.0) -> None:
        from tensorboard.compat.proto.event_pb2 import Event

        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._simple = simple
        self._time = began
        self._tags: set[str] = set()
        self.put(Event(wall_time=began, file_version="brain.Event:2"))

    def scalar(self, tag: str, step: int, value: float) -> None:
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary

        self._time += 1
        reported = Summary.Value(tag=tag)
        if self._simple:
            reported.simple_value = value
        else:
            reported.tensor.dtype = 1
            reported.tensor.float_val.append(value)
            if tag not in self._tags:
                reported.metadata.plugin_data.plugin_name = "scalars"
                self._tags.add(tag)
        self.put(Event(wall_time=self._time, step=step, summary=Summary(value=[reported])))

    def start(self, step: int) -> None:
        """What a Supervisor writes when it begins."""
        from tensorboard.compat.proto.event_pb2 import Event, SessionLog

        log = SessionLog(status=SessionLog.START)
        self.put(Event(wall_time=self._time, step=step, session_log=log))

    def put(self, event: Any) -> None:
        from tensorboard.summary.writer.record_writer import RecordWriter

        with open(self.path, "ab") as file:
            RecordWriter(file).write(event.SerializeToString())
