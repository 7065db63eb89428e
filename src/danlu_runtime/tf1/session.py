"""Patches of sessions: GPU graphs on a CPU, checkpoints on SIGTERM, and single log lines.

On a machine without GPUs ``/gpu:0`` means the CPU, and NCHW is computed as NHWC. CPU kernels
support little of NCHW without oneDNN, which TensorFlow disables on many CPUs. They have no NCHW
kernels for float16 and float64.
"""

import functools
import logging
import os
import signal
import threading
from typing import Any

from danlu.messages import get_message
from danlu_runtime.gpus import has_gpu
from danlu_runtime.reports.notes import print_message

_LAYOUT = "layout"  # the graph optimizer that converts NCHW to NHWC
# The optimizer does not change fetched operations. These have no NCHW kernel on a CPU.
_TURNED = frozenset(
    (
        *("Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"),
        *("DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropInput"),
        *("DepthwiseConv2dNativeBackpropFilter", "MaxPool", "MaxPoolGrad"),
        *("AvgPool", "AvgPoolGrad", "Conv3D", "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2"),
    )
)
_lock = threading.Lock()


def run_without_gpu() -> None:
    """Make every session run a graph made for a GPU if there is none.

    The caller's ConfigProto is not changed, because scripts print and compare it.
    """
    from tensorflow.compat.v1 import ConfigProto
    from tensorflow.python.client import session

    begin = session.BaseSession.__init__

    @functools.wraps(begin)
    def begin_on_cpu(self: Any, target: str = "", graph: Any = None, config: Any = None) -> None:
        if isinstance(config, ConfigProto | None) and not has_gpu():
            own = ConfigProto()
            if config is not None:
                own.CopyFrom(config)
            own.allow_soft_placement = True
            _turn_layouts(own.graph_options.rewrite_options)
            config = own
        begin(self, target, graph, config)

    session.BaseSession.__init__ = begin_on_cpu
    session._FetchHandler.fetches = _fetches
    session._FetchHandler.targets = _targets


def _turn_layouts(options: Any) -> None:
    """Enable the conversion from NCHW to NHWC, whatever other options the script sets."""
    if options.disable_meta_optimizer:
        options.disable_meta_optimizer = False
        options.optimizers[:] = [_LAYOUT]
    elif options.optimizers and _LAYOUT not in options.optimizers:
        options.optimizers.append(_LAYOUT)
    options.layout_optimizer = options.DEFAULT
    options.cpu_layout_conversion = options.NCHW_TO_NHWC
    options.min_graph_nodes = -1  # also for graphs of less than four nodes


def _fetches(self: Any) -> list[Any]:
    return [_copy(each) if _is_turned(each.op) else each for each in self._final_fetches]


def _targets(self: Any) -> list[Any]:
    return [_copy(each.outputs[0]).op if _is_turned(each) else each for each in self._targets]


def _is_turned(op: Any) -> bool:
    return op.type in _TURNED and op.get_attr("data_format").startswith(b"NC") and not has_gpu()


def _copy(tensor: Any) -> Any:
    """Return an identity of a tensor, created once and also in a finalized graph."""
    from tensorflow.python.framework import ops
    from tensorflow.python.ops import array_ops

    graph = tensor.graph
    name = f"{tensor.op.name}/fetched_{tensor.value_index}"
    with _lock:
        try:
            return graph.get_tensor_by_name(f"{name}:0")
        except KeyError:
            pass
        is_final, graph._finalized = graph._finalized, False
        try:
            # The slash makes the name absolute, independent of the caller's name scope.
            with graph.as_default(), ops.control_dependencies(None):
                return array_ops.identity(tensor, f"{name}/")
        finally:
            graph._finalized = is_final


_CODE = 128 + signal.SIGTERM  # exit code as shown by a shell
_open: set[int] = set()  # ids of sessions that save at the end
_asked = False


def checkpoint_on_sigterm() -> None:
    """Make monitored sessions finish the step, write a checkpoint and exit on SIGTERM.

    A machine or job that is stopped gets SIGTERM and a grace period. Estimator,
    MonitoredTrainingSession, mox.run and ModelMaker write a last checkpoint when their session ends
    normally. Everything else exits at once, including a session of a cluster, because its variables
    end with it. A script with its own handler is not changed.
    """
    from tensorflow.python.training import monitored_session

    session = monitored_session._MonitoredSession
    begin, run, asked, close = (
        session.__init__,
        session.run,
        session.should_stop,
        session._close_internal,
    )

    @functools.wraps(begin)
    def begin_listening(self: Any, *args: Any, **kwargs: Any) -> None:
        begin(self, *args, **kwargs)
        # Not in a cluster: TensorFlow may wait for a dead peer, and a Python handler for
        # TensorFlow.
        if not getattr(self._tf_sess(), "sess_str", "elsewhere") and _listen():
            _open.add(id(self))

    @functools.wraps(run)
    def run_or_end(self: Any, *args: Any, **kwargs: Any) -> Any:
        if _asked and id(self) in _open:
            raise StopIteration("The process shall end.")  # a session treats it as its normal end
        return run(self, *args, **kwargs)

    @functools.wraps(asked)
    def should_stop(self: Any) -> bool:
        return (_asked and id(self) in _open) or bool(asked(self))

    @functools.wraps(close)
    def close_and_leave(self: Any, exception_type: Any = None) -> None:
        try:
            close(self, exception_type)
        finally:
            listened = id(self) in _open
            _open.discard(id(self))
            _listen_no_more()
        if _asked and listened and exception_type is None:
            print_message(get_message("tf1.sigterm"))
            raise SystemExit(_CODE)

    session.__init__ = begin_listening
    session.run = run_or_end
    session.should_stop = should_stop
    session._close_internal = close_and_leave


def _listen() -> bool:
    """Handle SIGTERM from now on; return False if there is another handler."""
    if signal.getsignal(signal.SIGTERM) is _on_term:
        return True
    free = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    if not free or threading.current_thread() is not threading.main_thread():
        return False
    signal.signal(signal.SIGTERM, _on_term)
    return True


def _listen_no_more() -> None:
    """Restore the default action of SIGTERM if no session is left that would save."""
    if _open or _asked or threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(signal.SIGTERM) is _on_term:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _on_term(number: int, frame: object) -> None:
    global _asked
    if _open and not _asked:
        _asked = True
        return
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGTERM)


def print_once() -> None:
    from absl import logging as absl_logging

    absl_logging.get_absl_handler().addFilter(_is_not_printed_yet)


def _is_not_printed_yet(record: logging.LogRecord) -> bool:
    return record.name != "tensorflow" or not logging.getLogger("tensorflow").handlers
