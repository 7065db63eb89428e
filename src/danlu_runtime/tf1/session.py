"""Sessions on a machine without GPUs: ``/gpu:0`` in a script means the CPU then."""

import functools
import glob
import os
from typing import Any

_first = [True]  # until a session has begun


def place_softly() -> None:
    """Let every session place operations where it can when there is no GPU.

    The caller's ConfigProto is left as it is: scripts print and compare it.
    """
    from tensorflow.compat.v1 import ConfigProto
    from tensorflow.python.client import session

    from danlu_runtime.quiet import is_quiet, without_noise

    begin = session.BaseSession.__init__

    @functools.wraps(begin)
    def begin_softly(self: Any, target: str = "", graph: Any = None, config: Any = None) -> Any:
        if isinstance(config, ConfigProto | None) and not has_gpu():
            own = ConfigProto()
            if config is not None:
                own.CopyFrom(config)
            own.allow_soft_placement = True
            config = own
        if _first and is_quiet():
            _first.clear()
            with without_noise():  # TensorFlow looks for GPUs now, and complains of having none
                return begin(self, target, graph, config)
        return begin(self, target, graph, config)

    session.BaseSession.__init__ = begin_softly


def has_gpu() -> bool:
    """Tell it without asking the driver, which would start devices in this process."""
    shown = os.environ.get("CUDA_VISIBLE_DEVICES")
    hidden = shown is not None and (not shown.strip() or shown.strip().startswith("-"))
    return not hidden and bool(glob.glob("/dev/nvidia[0-9]*"))
