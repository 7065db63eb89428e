"""Numbers of one event file, read as it grows."""

import logging
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from danlu.summaries.records import Records

log = logging.getLogger(__name__)

_SCALARS = "scalars"


@dataclass(frozen=True)
class Scalar:
    tag: str
    step: int
    time: float
    value: float


@dataclass(frozen=True)
class Restart:
    """A training that began at ``step``: what an earlier one wrote from there on is void."""

    step: int


class EventFile:
    """Each call of :meth:`read` goes on where the last one ended."""

    def __init__(self, path: str) -> None:
        _without_tensorflow()
        self._records = Records(path)
        self._tensors: set[str] = set()  # tags whose tensors are scalars

    def read(self) -> Iterator[Scalar | Restart]:
        from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

        for record in self._records.read():
            try:
                event = _event().FromString(record)
            except DecodeError as error:  # though its checksum was right
                log.warning("event passed over error=%s", error)
                continue
            yield from self._told(event)

    def _told(self, event: Any) -> Iterator[Scalar | Restart]:
        # 1: SessionLog.START
        if event.HasField("session_log") and event.session_log.status == 1:
            yield Restart(event.step)
        if not event.HasField("summary"):
            return
        for value in event.summary.value:
            number = self._number(value)
            if number is not None:
                yield Scalar(value.tag, event.step, event.wall_time, number)

    def _number(self, value: Any) -> float | None:
        if value.HasField("simple_value"):
            return float(value.simple_value)
        if not value.HasField("tensor"):
            return None
        if value.metadata.plugin_data.plugin_name == _SCALARS:
            # Said with the first value of a tag only.
            self._tensors.add(value.tag)
        return _scalar(value.tensor) if value.tag in self._tensors else None


def _scalar(tensor: Any) -> float | None:
    from tensorboard.util import tensor_util  # type: ignore[import-untyped]

    try:
        found = tensor_util.make_ndarray(tensor)
        return float(found.item()) if found.size == 1 else None
    except (TypeError, ValueError):
        return None


def _event() -> Any:
    from tensorboard.compat.proto import event_pb2  # type: ignore[import-untyped]

    return event_pb2.Event


def _without_tensorflow() -> None:
    """Make tensorboard use its own few lines instead of TensorFlow, which takes 600 MB."""
    # tensorboard 2.20: tensorboard/compat/__init__.py looks for a module of this name.
    name = "tensorboard.compat.notf"
    sys.modules.setdefault(name, ModuleType(name))
