"""Writers of summaries that a script leaves open: their last events are written when Python ends.

On a disk, C++ writes them when the writer is destroyed; in a store that is too late.
"""

import contextlib
import gc
import sys
from typing import Any

_KINDS = (
    ("tensorflow.python.summary.writer.writer", "FileWriter"),
    ("tensorflow.python.ops.summary_ops_v2", "SummaryWriter"),
)


def flush_all() -> None:
    kinds = [getattr(sys.modules.get(module), name, None) for module, name in _KINDS]
    wanted = tuple(kind for kind in kinds if kind is not None)
    for writer in [found for found in gc.get_objects() if issubclass(type(found), wanted)]:
        with contextlib.suppress(Exception):  # closed already, or its graph is gone
            if _can_flush(writer):
                writer.flush()


def _can_flush(writer: Any) -> bool:
    """Tell a writer whose thread is not here: it belongs to the process we were forked from."""
    thread = getattr(getattr(writer, "event_writer", None), "_worker", None)
    return thread is None or bool(thread.is_alive())
