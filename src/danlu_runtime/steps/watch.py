"""Sees every run of every session.

A run that trains nothing costs a look into a dictionary for each of its fetches.
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

from danlu_runtime.notes import say
from danlu_runtime.steps.count import Counter
from danlu_runtime.steps.graph import Leaf, Ledger, ledger_of
from danlu_runtime.steps.loop import Rest
from danlu_runtime.steps.progress import Progress

_run: Callable[..., Any] = sessions.BaseSession.run
_make_callable: Callable[..., Any] = sessions.BaseSession.make_callable
_from_options: Callable[..., Any] = sessions.BaseSession._make_callable_from_options
_save: Callable[..., Any] = saver.Saver.save
_add_summary: Callable[..., Any] = events.SummaryToEventTransformer.add_summary
_NO_RESULT = object()


class Watch:
    """All that is watched in this process. ``broken``: trouble of ours has ended it."""

    def __init__(self, limit: int | None, progress: Progress | None) -> None:
        self.counter = Counter(limit)
        self.progress = progress
        self.rest = Rest(limit, say) if limit is not None else None
        self.broken = False

    def passed(self, session: Any, ledger: Ledger, trained: Sequence[Leaf], times: int = 1) -> None:
        """Take note of a run that has trained."""
        self.counter.add(ledger, trained, times)
        if self.progress is None:
            return
        self.progress.passed(self.counter.total)
        if self.progress.is_due():
            step = _global_step(session, ledger, trained)
            self.progress.tell(self.counter.total, self.counter.limit, step)

    def trouble(self, error: Exception) -> None:
        if not self.broken:
            self.broken = True
            say(f"training steps are not counted any more: {type(error).__name__}: {error}")


_watch: Watch | None = None
_truth = threading.local()  # set where a step counter is read as it is


def current() -> Watch | None:
    """Return what watches this process, unless it is broken."""
    return None if _watch is None or _watch.broken else _watch


def start(limit: int | None, box: str) -> None:
    """Watch from now on."""
    global _watch
    _watch = Watch(limit, Progress(box) if box else None)
    sessions.BaseSession.run = _watched_run
    sessions.BaseSession.make_callable = _watched_make_callable
    sessions.BaseSession._make_callable_from_options = _watched_from_options
    if limit is not None:
        saver.Saver.save = _truthful_save
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
        with _told_if_it_ends_early(watch, self, ledger, training):
            values = _run(self, fetches, feed_dict, options, run_metadata)
    if training:
        _after(watch, self, ledger, training, times)
        _keep(watch, fetches, values)
    elif ledger.left_out and watch.rest is not None and not getattr(_truth, "told", False):
        return watch.rest.pretend(ledger, fetches, values)
    return values


@contextmanager
def _told_if_it_ends_early(
    watch: Watch, session: Any, ledger: Ledger, training: Sequence[Leaf]
) -> Iterator[None]:
    """Count what a loop has done that fails, as at the end of the data: its step counter tells."""
    if ledger.base is None:
        step = _global_step(session, ledger, training)
        ledger.base = None if step is None else step - ledger.stepped
    try:
        yield
    except errors.OpError:
        step = _global_step(session, ledger, training) if ledger.base is not None else None
        made = 0 if step is None else step - ledger.base - ledger.stepped  # type: ignore[operator]
        if made > 0:
            _after(watch, session, ledger, training, made)
        raise


def _after(
    watch: Watch, session: Any, ledger: Ledger, training: Sequence[Leaf], times: int = 1
) -> None:
    try:
        watch.passed(session, ledger, training, times)
    except Exception as error:
        watch.trouble(error)


def _keep(watch: Watch, fetches: Any, values: Any) -> None:
    if watch.rest is not None:
        try:
            watch.rest.keep(fetches, values)
        except Exception as error:
            watch.trouble(error)


def _leave_out(watch: Watch, session: Any, ledger: Ledger, fetches: Any, feed_dict: Any) -> Any:
    assert watch.rest is not None
    try:
        return watch.rest.leave_out(
            ledger, fetches, lambda missing: _run(session, missing, feed_dict)
        )
    except errors.OpError:
        raise  # the end of the steps, or the script's own
    except Exception as error:
        watch.trouble(error)
        return _run(session, fetches, feed_dict)


def _global_step(session: Any, ledger: Ledger, trained: Sequence[Leaf]) -> int | None:
    """Read the step counter by a run of its own: the script's own run is left as it is."""
    counter = next((leaf.step for leaf in trained if leaf.step is not None), None)
    fetch = ledger.counters.get(counter)
    if fetch is None:
        return None
    try:
        return int(_run(session, fetch))
    except (errors.OpError, TypeError, ValueError, RuntimeError):
        ledger.counters[counter] = None  # cannot be read; the runs are counted
        return None


@functools.wraps(_save)
def _truthful_save(self: Any, *args: Any, **kwargs: Any) -> Any:
    """Name a checkpoint by the step it holds, not by the one a loop believes to be in."""
    _truth.told = True
    try:
        return _save(self, *args, **kwargs)
    finally:
        _truth.told = False


@functools.wraps(_add_summary)
def _truthful_summary(self: Any, summary: Any, global_step: Any = None) -> None:
    """Write no summary of a step that was left out."""
    watch = current()
    if watch is None or watch.rest is None or not watch.rest.repeats(summary):
        _add_summary(self, summary, global_step)


@functools.wraps(_make_callable)
def _watched_make_callable(
    self: Any, fetches: Any, feed_list: Any = None, accept_options: bool = False
) -> Any:
    made = _make_callable(self, fetches, feed_list, accept_options)
    # With a list of feeds it comes through run().
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
    """A step that was prepared once: Keras trains by these."""

    def __init__(
        self,
        session: Any,
        ledger: Ledger,
        training: Sequence[Leaf],
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
            # Keras is told to stop at the end of its epoch: it has twice the time.
            watch.rest.count(self._training[0].trains, lambda: False, patience=2)
            return self._values
        values = self._made(*args, **kwargs)
        times = self._fused.times(dict(zip(self._feeds, args, strict=False))) if self._fused else 1
        _after(watch, self._session, self._ledger, self._training, times)
        if watch.rest is not None:
            self._values = values
        return values
