"""SIGTERM while a session trains: the step is finished, its checkpoint written, the process ends.

Who takes a machine back, or stops a job, sends SIGTERM and waits for a time of grace. Estimator,
MonitoredTrainingSession, mox.run and ModelMaker write a last checkpoint where their session ends as
it should: so it is ended so, and nothing is trained again. Everything else ends at once, as ever;
so does a session of a cluster, whose variables are ended with it, and a script that has a handler
of its own is left to it.
"""

import functools
import os
import signal
import threading
from typing import Any

from danlu_runtime.notes import say

_CODE = 128 + signal.SIGTERM  # as a shell tells it
_open: set[int] = set()  # sessions that would save
_asked = False


def save_in_grace() -> None:
    """Let the monitored sessions of this process end well at SIGTERM."""
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
        # In a cluster nothing listens: TensorFlow may wait for a peer that died, and a handler in
        # Python for TensorFlow.
        if not getattr(self._tf_sess(), "sess_str", "elsewhere") and _listen():
            _open.add(id(self))

    @functools.wraps(run)
    def run_or_end(self: Any, *args: Any, **kwargs: Any) -> Any:
        if _asked and id(self) in _open:
            raise StopIteration("The process shall end.")  # a session takes it for its good end
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
            say("SIGTERM: the training has ended where it was, and saved it")
            raise SystemExit(_CODE)

    session.__init__ = begin_listening
    session.run = run_or_end
    session.should_stop = should_stop
    session._close_internal = close_and_leave


def _listen() -> bool:
    """Hear SIGTERM from now on; False where somebody else does."""
    if signal.getsignal(signal.SIGTERM) is _on_term:
        return True
    free = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    if not free or threading.current_thread() is not threading.main_thread():
        return False
    signal.signal(signal.SIGTERM, _on_term)
    return True


def _listen_no_more() -> None:
    """Leave SIGTERM to the kernel again when no session is left that would save."""
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
