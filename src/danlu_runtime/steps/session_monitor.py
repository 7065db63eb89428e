"""Monitors every run of every session.

A run that trains nothing costs a dictionary lookup for each of its fetches.
"""

import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tensorflow.python.client import session as sessions
from tensorflow.python.framework import errors
from tensorflow.python.summary.writer import writer as events
from tensorflow.python.training import saver

from danlu.messages import get_message
from danlu_runtime.reports.notes import print_message
from danlu_runtime.steps.graph import FetchInfo, GraphInfo, ledger_of
from danlu_runtime.steps.progress import Progress, Resumed
from danlu_runtime.steps.step_limit import SkippedRuns


class Counter:
    """The step count of one process; ``limit`` is the maximum number of steps, None for any."""

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self.total = 0
        self.closed = False  # a step past the limit was requested
        self.threads: set[int] = set()  # threads that have trained
        self._lock = threading.Lock()

    @property
    def reached(self) -> bool:
        return self.limit is not None and self.total >= self.limit

    @property
    def left(self) -> int | None:
        """The number of steps that may still be made, None for any."""
        return None if self.limit is None else max(self.limit - self.total, 0)

    def add(self, ledger: GraphInfo, trained: Sequence[FetchInfo], times: int = 1) -> None:
        """Count a finished run; ``times`` is its number of steps if it was a fused loop."""
        with self._lock:
            before = ledger.steps
            for trains in {leaf.trains for leaf in trained}:
                ledger.runs[trains] = ledger.runs.get(trains, 0) + times
            if any(leaf.step is not None for leaf in trained):
                ledger.stepped += times
            self.total += ledger.steps - before
            self.threads.add(threading.get_ident())

    def advance(self, steps: int) -> None:
        """Count steps that were made without a session."""
        with self._lock:
            self.total += steps
            self.threads.add(threading.get_ident())

    def allows(self, ledger: GraphInfo, training: Sequence[FetchInfo]) -> bool:
        """Return True if a run may be made.

        The limit closes when the counting operation is requested again, not after its last run. The
        other operations of the round come after it and must still run.
        """
        if self.limit is None:
            return True
        if not self.closed and self.total >= self.limit:
            self.closed = self._counts(ledger, training)
        return not self.closed or any(leaf.trains not in ledger.runs for leaf in training)

    def _counts(self, ledger: GraphInfo, training: Sequence[FetchInfo]) -> bool:
        if any(leaf.step is not None for leaf in training):
            return True
        most = 0 if ledger.stepped else ledger.steps
        return any(ledger.runs.get(leaf.trains, 0) >= most for leaf in training)


_run: Callable[..., Any] = sessions.BaseSession.run
_make_callable: Callable[..., Any] = sessions.BaseSession.make_callable
_from_options: Callable[..., Any] = sessions.BaseSession._make_callable_from_options
_save: Callable[..., Any] = saver.Saver.save
_restore: Callable[..., Any] = saver.Saver.restore
_add_summary: Callable[..., Any] = events.SummaryToEventTransformer.add_summary
_NO_RESULT = object()


class SessionMonitor:
    """The monitor of all sessions in this process; ``broken`` is set after an internal error."""

    def __init__(self, limit: int | None, progress: Progress | None) -> None:
        self.counter = Counter(limit)
        self.progress = progress
        self.rest = SkippedRuns(limit, print_message) if limit is not None else None
        self.resumed = Resumed()
        self.broken = False
        self._loop_reported = False  # a loop that cannot be ended was reported

    def passed(
        self, session: Any, ledger: GraphInfo, trained: Sequence[FetchInfo], times: int = 1
    ) -> None:
        """Count a run that has trained, and report progress."""
        self.counter.add(ledger, trained, times)
        if self.progress is None:
            return
        self.progress.passed(self.counter.total)
        if self.progress.is_due():
            step = _global_step(session, ledger, trained)
            self.progress.update(self.counter.total, self.counter.limit, step)

    def advance(self, steps: int) -> None:
        """Count steps made without a session, and report progress."""
        self.counter.advance(steps)
        if self.progress is None:
            return
        self.progress.passed(self.counter.total)
        if self.progress.is_due():
            self.progress.update(self.counter.total, self.counter.limit, None)

    def trouble(self, error: Exception) -> None:
        if not self.broken:
            self.broken = True
            print_message(
                get_message("steps.not_counted", name__=type(error).__name__, error=error)
            )
            if self.counter.limit is not None and self.progress is not None:
                self.progress.report_unlimited("error")

    def cannot_end(self, kind: str, why: str) -> None:
        """Report once, in the log and for the end of the job, a loop that cannot be ended.

        ``kind`` is one of ``danlu.job.status.UNLIMITED``.
        """
        if self._loop_reported:
            return
        self._loop_reported = True
        print_message(get_message("steps.cannot_end", limit=self.counter.limit, why=why))
        if self.progress is not None:
            self.progress.report_unlimited(kind)


_watch: SessionMonitor | None = None
_real_step = threading.local()  # set while a step counter must be read unchanged


def current() -> SessionMonitor | None:
    """Return the monitor of this process, None if there is none or it is broken."""
    return None if _watch is None or _watch.broken else _watch


def start(limit: int | None, box: str) -> None:
    """Start monitoring the sessions of this process."""
    global _watch
    _watch = SessionMonitor(limit, Progress(box) if box else None)
    sessions.BaseSession.run = _watched_run
    sessions.BaseSession.make_callable = _watched_make_callable
    sessions.BaseSession._make_callable_from_options = _watched_from_options
    saver.Saver.save = _watched_save
    saver.Saver.restore = _watched_restore
    if limit is not None:
        events.SummaryToEventTransformer.add_summary = _truthful_summary


@functools.wraps(_run)
def _watched_run(
    self: Any, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
) -> Any:
    watch = current()
    if watch is None:
        return _run(self, fetches, feed_dict, options, run_metadata)
    try:
        ledger = ledger_of(self._graph)
        training = ledger.training(fetches)
        allowed = not training or watch.counter.allows(ledger, training)
    except Exception as error:
        watch.trouble(error)
        return _run(self, fetches, feed_dict, options, run_metadata)
    if not allowed:
        return _leave_out(watch, self, ledger, fetches, feed_dict)
    fused = next((leaf.fused for leaf in training if leaf.fused is not None), None)
    if fused is None:
        times, values = 1, _run(self, fetches, feed_dict, options, run_metadata)
    else:
        times = fused.times(feed_dict)
        with _count_if_it_ends_early(watch, self, ledger, training):
            values = _run(self, fetches, feed_dict, options, run_metadata)
    if training:
        _after(watch, self, ledger, training, times)
        _keep(watch, fetches, values)
    elif ledger.left_out and watch.rest is not None and not getattr(_real_step, "read", False):
        return watch.rest.pretend(ledger, fetches, values)
    return values


@contextmanager
def _count_if_it_ends_early(
    watch: SessionMonitor, session: Any, ledger: GraphInfo, training: Sequence[FetchInfo]
) -> Iterator[None]:
    """Count the steps of a fused loop that fails, for example at the end of the data.

    The step counter gives their number.
    """
    if ledger.base is None:
        step = _global_step(session, ledger, training)
        ledger.base = None if step is None else step - ledger.stepped
    try:
        yield
    except errors.OpError:
        base = ledger.base
        step = None if base is None else _global_step(session, ledger, training)
        made = 0 if base is None or step is None else step - base - ledger.stepped
        if made > 0:
            _after(watch, session, ledger, training, made)
        raise


def _after(
    watch: SessionMonitor,
    session: Any,
    ledger: GraphInfo,
    training: Sequence[FetchInfo],
    times: int = 1,
) -> None:
    try:
        watch.passed(session, ledger, training, times)
    except Exception as error:
        watch.trouble(error)


def _keep(watch: SessionMonitor, fetches: Any, values: Any) -> None:
    if watch.rest is not None:
        try:
            watch.rest.keep(fetches, values)
        except Exception as error:
            watch.trouble(error)


def _leave_out(
    watch: SessionMonitor, session: Any, ledger: GraphInfo, fetches: Any, feed_dict: Any
) -> Any:
    assert watch.rest is not None
    try:
        return watch.rest.leave_out(
            ledger, fetches, lambda missing: _run(session, missing, feed_dict)
        )
    except errors.OpError:
        raise  # the step limit, or an error of the script
    except Exception as error:
        watch.trouble(error)
        return _run(session, fetches, feed_dict)


def _global_step(session: Any, ledger: GraphInfo, trained: Sequence[FetchInfo]) -> int | None:
    """Read the step counter in a separate run; the script's run is unchanged."""
    counter = next((leaf.step for leaf in trained if leaf.step is not None), None)
    fetch = ledger.counters.get(counter)
    if fetch is None:
        return None
    try:
        return int(_run(session, fetch))
    except (errors.OpError, TypeError, ValueError, RuntimeError):
        ledger.counters[counter] = None  # cannot be read; runs are counted instead
        return None


@functools.wraps(_save)
def _watched_save(
    self: Any, sess: Any, save_path: Any, global_step: Any = None, *args: Any, **kwargs: Any
) -> Any:
    """Name a checkpoint by the step it contains, not by the step shown to the loop."""
    _real_step.read = True
    try:
        saved = _save(self, sess, save_path, global_step, *args, **kwargs)
    finally:
        _real_step.read = False
    watch = current()
    if watch is not None and watch.progress is not None and watch.counter.total:
        try:
            step = watch.resumed.step_saved(sess, save_path, global_step)
            if step is not None:
                watch.progress.follow(watch.counter.total, step)
        except Exception as error:
            watch.trouble(error)
    return saved


@functools.wraps(_restore)
def _watched_restore(self: Any, sess: Any, save_path: Any) -> Any:
    restored = _restore(self, sess, save_path)
    watch = current()
    if watch is not None:
        try:
            watch.resumed.restored(save_path)
        except Exception as error:
            watch.trouble(error)
    return restored


@functools.wraps(_add_summary)
def _truthful_summary(self: Any, summary: Any, global_step: Any = None) -> None:
    """Write no summary of a skipped step."""
    watch = current()
    if watch is None or watch.rest is None or not watch.rest.repeats(summary):
        _add_summary(self, summary, global_step)


@functools.wraps(_make_callable)
def _watched_make_callable(
    self: Any, fetches: Any, feed_list: Any = None, accept_options: bool = False
) -> Any:
    made = _make_callable(self, fetches, feed_list, accept_options)
    # With a feed list TensorFlow calls run().
    return _counted(self, fetches, made) if feed_list is None else made


@functools.wraps(_from_options)
def _watched_from_options(self: Any, callable_options: Any) -> Any:
    names = [*callable_options.target, *callable_options.fetch]
    feeds = list(callable_options.feed)
    return _counted(self, names, _from_options(self, callable_options), feeds)


def _counted(session: Any, fetches: Any, made: Any, feeds: Sequence[str] = ()) -> Any:
    watch = current()
    if watch is None:
        return made
    try:
        ledger = ledger_of(session._graph)
        training = ledger.training(fetches)
    except Exception as error:
        watch.trouble(error)
        return made
    return _Counted(session, ledger, training, made, feeds) if training else made


class _Counted:
    """A prepared training step, as used by Keras."""

    def __init__(
        self,
        session: Any,
        ledger: GraphInfo,
        training: Sequence[FetchInfo],
        made: Callable[..., Any],
        feeds: Sequence[str],
    ) -> None:
        self._session = session
        self._ledger = ledger
        self._training = training
        self._made = made
        self._feeds = feeds
        self._fused = next((leaf.fused for leaf in training if leaf.fused is not None), None)
        self._values: Any = _NO_RESULT

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        watch = current()
        if watch is None:
            return self._made(*args, **kwargs)
        allowed = watch.counter.allows(self._ledger, self._training)
        if watch.rest is not None and not allowed and self._values is not _NO_RESULT:
            # Keras stops at the end of its epoch only. Its timeout is doubled.
            watch.rest.count(self._training[0].trains, lambda: False, factor=2)
            return self._values
        values = self._made(*args, **kwargs)
        times = self._fused.times(dict(zip(self._feeds, args, strict=False))) if self._fused else 1
        _after(watch, self._session, self._ledger, self._training, times)
        if watch.rest is not None:
            self._values = values
        return values
