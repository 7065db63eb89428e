"""Training as in Keras 2.0-2.3: lines of the log, names of metrics, order of history and callbacks.

Only models of the package ``keras`` are affected (:mod:`danlu_runtime.keras2.standalone`).
"""

import functools
import re
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from tf_keras.src import callbacks as cbks
from tf_keras.src import metrics as metrics_module
from tf_keras.src.engine import training_arrays_v1, training_utils_v1
from tf_keras.src.utils import io_utils
from tf_keras.src.utils.mode_keys import ModeKeys

from danlu_runtime.keras2 import keras_version
from danlu_runtime.keras2.standalone import is_active

Values = Sequence[tuple[str, Any]]
_ANNOUNCEMENT = "Train on %d samples, validate on %d samples"
_INTERVAL = 0.05  # seconds between two updates of a bar


def accept() -> None:
    training_arrays_v1._print_train_info = _announcing(training_arrays_v1._print_train_info)
    cbks.configure_callbacks = _configuring(cbks.configure_callbacks)
    cbks.CallbackList.on_epoch_end = _ordering(cbks.CallbackList.on_epoch_end)
    training_utils_v1.get_metric_name = _naming(training_utils_v1.get_metric_name)
    io_utils.print_msg = _printing(io_utils.print_msg)


class Progbar:
    """``keras.utils.Progbar``: prints the progress of an epoch and its metrics.

    ``verbose`` 1 is a bar, 2 is one line for each epoch.
    """

    def __init__(
        self,
        target: int | None,
        width: int = 30,
        verbose: int = 1,
        interval: float = _INTERVAL,
        stateful_metrics: Iterable[str] | None = None,
    ) -> None:
        self.target, self.width, self.verbose, self.interval = target, width, verbose, interval
        self.stateful_metrics = set(stateful_metrics or ())
        self._redraws = sys.stdout.isatty() or "ipykernel" in sys.modules
        self._values: dict[str, tuple[Any, Any]] = {}  # sum and count
        self._seen, self._written = 0, 0
        self._started, self._updated = time.time(), 0.0

    def update(self, current: int, values: Values | None = None) -> None:
        """Show that ``current`` steps are done; the values of each step are averaged."""
        for name, value in values or ():
            if name in self.stateful_metrics:
                self._values[name] = (value, 1)
            else:
                total, count = self._values.get(name, (0.0, 0))
                new = current - self._seen
                self._values[name] = (total + value * new, count + new)
        self._seen, now = current, time.time()
        done = self.target is not None and current >= self.target
        if self.verbose == 1:
            if now - self._updated < self.interval and self.target is not None and not done:
                return
            self._write_bar(current, now, done=done)
        elif self.verbose == 2 and (done or self.target is None):
            sys.stdout.write(f" - {now - self._started:.0f}s{self._metrics()}\n")
            sys.stdout.flush()
        self._updated = now

    def add(self, n: int, values: Values | None = None) -> None:
        self.update(self._seen + n, values)

    def _write_bar(self, current: int, now: float, *, done: bool) -> None:
        before = self._written
        bar, passed = self._bar(current), now - self._started
        each = passed / current if current else 0.0
        if self.target is None or done:
            times = f" - {passed:.0f}s {_per_step(each)}"
        else:
            times = f" - ETA: {_clock(each * (self.target - current))}"
        text = f"{bar}{times}{self._metrics()}"
        self._written = len(text)
        end = "\n" if done else ""
        start = "\b" * before + "\r" if self._redraws else "\n"
        sys.stdout.write(f"{start}{text}{' ' * (before - len(text))}{end}")
        sys.stdout.flush()

    def _bar(self, current: int) -> str:
        if self.target is None:
            return f"{current:7d}/Unknown"
        filled = int(self.width * current / self.target) if self.target else 0
        head = ">" if current < self.target else "="
        drawn = "=" * (filled - 1) + head if filled else ""
        digits = len(str(self.target))
        return f"{current:{digits}d}/{self.target} [{drawn.ljust(self.width, '.')}]"

    def _metrics(self) -> str:
        shown = ""
        for name, (total, count) in self._values.items():
            mean = np.mean(total / max(1, count))
            large = abs(mean) > 1e-3 if self.verbose == 1 else mean > 1e-3
            shown += f" - {name}: {mean:.4f}" if large else f" - {name}: {mean:.4e}"
        return shown


def _per_step(seconds: float) -> str:
    if seconds >= 1:
        return f"{seconds:.0f}s/step"
    return f"{seconds * 1e3:.0f}ms/step" if seconds >= 1e-3 else f"{seconds * 1e6:.0f}us/step"


def _clock(seconds: float) -> str:
    whole = int(seconds)
    if seconds > 3600:
        return f"{whole // 3600}:{whole % 3600 // 60:02d}:{whole % 60:02d}"
    return f"{whole // 60}:{whole % 60:02d}" if seconds > 60 else f"{whole}s"


class ProgbarLogger(cbks.Callback):
    """Prints the epochs of ``fit`` and the progress of each."""

    def __init__(
        self, count_mode: str = "samples", stateful_metrics: Iterable[str] | None = None
    ) -> None:
        super().__init__()
        if count_mode not in ("samples", "steps"):
            raise ValueError(f"Unknown `count_mode`: {count_mode}")
        self.use_steps = count_mode == "steps"
        self.stateful_metrics = set(stateful_metrics or ())

    def on_train_begin(self, logs: Any = None) -> None:
        self.verbose, self.epochs = self.params["verbose"], self.params["epochs"]

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.seen, self.log_values = 0, list[tuple[str, Any]]()
        self.target = self.params["steps" if self.use_steps else "samples"]
        if self.verbose:
            print(f"Epoch {epoch + 1}/{self.epochs}")
            names = {*self.stateful_metrics, *self.model.metrics_names[1:]}
            self.progbar = Progbar(self.target, verbose=self.verbose, stateful_metrics=names)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.seen += 1 if self.use_steps else (logs or {}).get("size", 0)
        self.log_values = self._shown(logs)
        # The last batch is shown by on_epoch_end, with the values of the validation.
        if self.verbose and (self.target is None or self.seen < self.target):
            self.progbar.update(self.seen, self.log_values)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if self.verbose:
            self.progbar.update(self.seen, [*self.log_values, *self._shown(logs)])

    def _shown(self, logs: Any) -> list[tuple[str, Any]]:
        return [
            (name, logs[name]) for name in self.params["metrics"] if dict.__contains__(logs, name)
        ]


class _Bar(cbks.Callback):
    """Prints the progress of ``evaluate`` or ``predict``."""

    def __init__(self, target: int | None, *, by_step: bool) -> None:
        super().__init__()
        self._progbar, self._by_step, self._seen = Progbar(target), by_step, 0

    def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
        self._seen += 1 if self._by_step else (logs or {}).get("size", 0)
        self._progbar.update(self._seen)

    on_predict_batch_end = on_test_batch_end


def _announcing(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def _print_train_info(count: Any, validation_count: Any, is_dataset: bool) -> None:
        if not is_active():
            original(count, validation_count, is_dataset)
        elif validation_count and not is_dataset:
            print(_ANNOUNCEMENT % (count, validation_count))

    return _print_train_info


def _configuring(original: Callable[..., Any]) -> Callable[..., Any]:
    """Put the logger before the callbacks of the script, and the history after them."""

    @functools.wraps(original)
    def configure_callbacks(
        callbacks: Any, model: Any, *args: Any, verbose: int = 1, **kwargs: Any
    ) -> Any:
        if not is_active() or isinstance(callbacks, cbks.CallbackList):
            return original(callbacks, model, *args, verbose=verbose, **kwargs)
        given, first = list(callbacks or ()), list[Any]()
        by_step = kwargs.get("count_mode", "steps") == "steps"
        if kwargs.get("mode", ModeKeys.TRAIN) == ModeKeys.TRAIN:
            first = [ProgbarLogger("steps" if by_step else "samples")] if verbose else []
        elif verbose == 1:
            target = kwargs.get("steps_per_epoch" if by_step else "samples")
            first = [_Bar(target, by_step=by_step)]
        made = original([*first, *given], model, *args, verbose=0, **kwargs)
        made.set_params({**made.params, "verbose": verbose})
        return made

    return configure_callbacks


def _ordering(original: Callable[..., None]) -> Callable[..., None]:
    """Put the values of the validation first, as in histories of that time."""

    @functools.wraps(original)
    def on_epoch_end(self: Any, epoch: int, logs: Any = None) -> None:
        if is_active() and logs:
            validated = {name: one for name, one in logs.items() if name.startswith("val_")}
            logs = {**validated, **logs}
        original(self, epoch, logs)

    return on_epoch_end


def _naming(original: Callable[..., str]) -> Callable[..., str]:
    """Keep the name that a script gave a metric, since Keras 2.3; ``acc`` before."""

    @functools.wraps(original)
    def get_metric_name(metric: Any, weighted: bool = False) -> str:
        if not is_active() or keras_version.is_before_2_3():
            return original(metric, weighted)
        if isinstance(metric, str):
            return metric
        found = metrics_module.get(metric)
        return str(getattr(found, "name", "") or found.__name__)

    return get_metric_name


_EPOCH = re.compile(r"(?m)^Epoch (\d+): ")


def _printing(original: Callable[..., None]) -> Callable[..., None]:
    """Write the epoch in the messages of callbacks with five digits."""

    @functools.wraps(original)
    def print_msg(message: Any, *args: Any, **kwargs: Any) -> None:
        if is_active() and isinstance(message, str):
            message = _EPOCH.sub(lambda found: f"Epoch {int(found[1]):05d}: ", message)
        original(message, *args, **kwargs)

    return print_msg
