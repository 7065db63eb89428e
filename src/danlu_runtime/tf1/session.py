"""Sessions on a machine without GPUs: ``/gpu:0`` in a script means the CPU then."""

import functools
from typing import Any

from danlu_runtime.gpus import has_gpu


def place_softly() -> None:
    """Let every session place operations where it can when there is no GPU.

    The caller's ConfigProto is left as it is: scripts print and compare it.
    """
    from tensorflow.compat.v1 import ConfigProto
    from tensorflow.python.client import session

    begin = session.BaseSession.__init__

    @functools.wraps(begin)
    def begin_softly(self: Any, target: str = "", graph: Any = None, config: Any = None) -> None:
        if isinstance(config, ConfigProto | None) and not has_gpu():
            own = ConfigProto()
            if config is not None:
                own.CopyFrom(config)
            own.allow_soft_placement = True
            config = own
        begin(self, target, graph, config)

    session.BaseSession.__init__ = begin_softly
