"""Following a job until it ends: its output, its status transitions and a status line."""

import contextlib
import re
import shutil
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from danlu.errors import DanluError
from danlu.job import spec
from danlu.job.describe import (
    Span,
    has_several,
    last_state,
    moving_line,
    phases_of,
    spans,
    steps_line,
    task_name,
)
from danlu.job.status import Line
from danlu.messages import LANGUAGES, get_message, get_message_in
from danlu.messages.terminal import TerminalOutput
from danlu.messages.text import duration, moment
from ti.describing import MODEL, Transition, model_uri, transitions
from ti.inputs import local_path

if TYPE_CHECKING:
    from danlu.client import Client
    from ti.estimator import EstimatorBase


View = Mapping[str, Any]


def times(view: View) -> Sequence[str]:
    """Return the duration of each phase, one line per task.

    Lines have the task name if there are several tasks. The time before the first phase is the
    time in the queue.
    """
    queued = _queued(view)
    lines = []
    for task in view.get("tasks") or ():
        if phases := spans(task, view["ended"] or 0):
            waited = Span(get_message("state.queued"), phases_of(task)[0]["began"] - queued)
            parts = [f"{span.name} {duration(span.seconds)}" for span in (waited, *phases)]
            lines.append((task_name(task), " · ".join(parts)))
    several = len(lines) > 1
    return [f"[{name}] {text}" if several else text for name, text in lines]


def _queued(view: View) -> float:
    """Return the time when the current attempt was queued."""
    waits = (change["at"] for change in view["history"] if change["state"] == "queued")
    return float(max(waits, default=view["created"]))


class Terminal(TerminalOutput):
    """Output to a terminal, a notebook or a file.

    The status line is shown below all other lines on a terminal, and in a separate display in a
    notebook. A file receives only complete lines.
    """

    _place: Any = None  # display of the status line in a notebook

    @property
    def _notebook(self) -> bool:
        return type(self.out).__module__.partition(".")[0] == "ipykernel"

    @property
    def moves(self) -> bool:
        return self._notebook or self.err.isatty()

    def line(self, text: str) -> None:
        self._write(self.out, text + "\n")

    def move(self, text: str) -> None:
        if self.moves:
            super().move(text)

    def _hide(self) -> None:
        if not self._notebook:
            super()._hide()

    def _draw(self, text: str) -> None:
        if self._notebook:
            self._show_in_cell(text)
        else:
            super()._draw(text[: shutil.get_terminal_size().columns - 1])
        self._shown = text

    def _show_in_cell(self, text: str) -> None:
        """Replace the previous text in the cell.

        With carriage returns, the notebook would store every state of the line.
        """
        data = {"text/plain": text}
        if self._place is not None:
            self._place.update(data, raw=True)
        elif text:
            # IPython is installed wherever a notebook runs; it is no dependency of this package.
            display = import_module("IPython.display").display
            self._place = display(data, raw=True, display_id=True)


_OURS = "[danlu] "
_OFTEN, _SELDOM = 0.3, 2.0  # seconds between two requests; the second while nothing is shown
_ENDS = ("Completed", "Failed", "Stopped")
_MAX_REQUESTS = 50  # maximum requests until the start of the script is reported


def follow(client: "Client", view: View, *, logs: bool, terminal: Terminal) -> View:
    """Print the status transitions of a job until it has ended; return the job.

    With ``logs`` also print its output. Ctrl-C does not stop the job; it prints how to follow the
    job again.
    """
    try:
        with _printing_status(client, view["id"], terminal) as printer:
            if logs:
                printer.withhold("Uploading", *_ENDS)
                show_output(client, view["id"], terminal, printer)
                printer.withhold()
            ended = client.wait(view["id"])
    except KeyboardInterrupt:
        terminal.line(_detached(view["name"]))
        raise
    printer.update(ended)
    for text in times(ended):
        terminal.line(f"{ended['name']}: {text}")
    return ended


def show_output(
    client: "Client",
    reference: str,
    terminal: Terminal,
    printer: "_StatusPrinter | None" = None,
    *,
    wait: bool = True,
) -> None:
    """Print every line of a job, with the task name if there are several tasks.

    With ``wait``, follow the job until it has ended. Otherwise print the output so far.
    """
    several: bool | None = None
    speaks = False
    begun = printer.begin if printer else None
    lines = client.follow(reference, on_partial=begun) if wait else _so_far(client, reference)
    for line in lines:
        if several is None:
            several = has_several(client.job(reference))
        if printer and not speaks and not line.text.startswith(_OURS):
            speaks = True
            _print_start(printer, client, reference)
            printer.withhold(*_ENDS)
        # Print only the last state of a progress bar.
        text = last_state(line.text)
        terminal.line(f"[{line.task}] {text}" if several else text)


def _print_start(printer: "_StatusPrinter", client: "Client", reference: str) -> None:
    """Print that the script has started, before its first line.

    Its output may arrive before the server reports the start.
    """
    for _ in range(_MAX_REQUESTS):
        printer.update(client.job(reference))
        if printer.has_begun:
            return
        time.sleep(_OFTEN / 10)


def progress(view: View, now: float) -> str:
    """Return the status line of a job: its phase, or its training step while the script runs."""
    phase = moving_line(view, now)
    return phase or steps_line(view, now) or moving_line(view, now, with_run=True)


def _so_far(client: "Client", reference: str) -> Iterator[Line]:
    cursor = ""
    while True:
        found = client.lines(reference, cursor=cursor)
        yield from found.lines
        if found.ended or not found.lines:
            return
        cursor = found.cursor


def _detached(name: str) -> str:
    detached = get_message("follow.detached", name=name)
    return get_message("ti.detached", detached=detached, name=name)


class _StatusPrinter:
    """Printer of status transitions (each once) and of the status line."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._printed: set[Transition] = set()
        self._status = ""
        self._begun = ""
        self._withheld: tuple[str, ...] = ()
        self._lock = threading.Lock()

    @property
    def training(self) -> bool:
        return self._status == "Training"

    @property
    def has_begun(self) -> bool:
        return self._status not in ("", "Starting", "Downloading")

    def withhold(self, *statuses: str) -> None:
        """Do not print these statuses yet. A short job ends before its first line is printed."""
        self._withheld = statuses

    def begin(self, lines: Mapping[str, str]) -> None:
        """Show the unfinished line of a task, for example a progress bar of the script."""
        self._begun = next(filter(None, map(last_state, lines.values())), "")
        if self._begun:
            self._terminal.move(self._begun)

    def update(self, view: View) -> None:
        with self._lock:
            for change in transitions(view):
                if change not in self._printed and change.status not in self._withheld:
                    self._printed.add(change)
                    self._print(change)
            self._terminal.move(self._begun or progress(view, time.time()))

    def _print(self, change: Transition) -> None:
        """Print a transition if its status is new.

        Further transitions of the same status are too short to be read.
        """
        if change.status == self._status:
            return
        self._status = change.status
        attempt = f" (attempt {change.attempt})" if change.attempt > 1 else ""
        text = f"{moment(change.began)} {change.status} - {change.message}{attempt}"
        self._terminal.line(text)


@contextlib.contextmanager
def _printing_status(
    client: "Client", reference: str, terminal: Terminal
) -> Iterator[_StatusPrinter]:
    """Poll the status of a job in a thread while the caller reads its output."""
    printer, done = _StatusPrinter(terminal), threading.Event()

    def look() -> None:
        # Errors are ignored. The caller, which reads the output, reports them.
        with contextlib.suppress(DanluError, OSError):
            while True:
                view = client.job(reference)
                printer.update(view)
                quiet = printer.training and not terminal.moves
                if done.wait(_SELDOM if quiet else _OFTEN):
                    return

    thread = threading.Thread(target=look, name="ti-following", daemon=True)
    thread.start()
    try:
        yield printer
    finally:
        done.set()
        thread.join(5)
        terminal.move("")


_OLDEST = (1, 15)  # scripts for any TensorFlow 1.x get the names of this version
_TAIL = 40  # last lines of each log, searched for the agent's line about the model


def remarks_of(estimator: "EstimatorBase", inputs: Any) -> list[str]:
    """Return one line for each argument that works differently from the service."""
    runtime = estimator.runtime()
    found = []
    if inputs is None:
        found.append(get_message("ti.no_inputs"))
    if re.match(r"\D*2", runtime.python):
        found.append(get_message("ti.python2", python=runtime.python))
    if not getattr(estimator, "script_mode", True):
        found.append(get_message("ti.script_mode"))
    if version := _older(runtime.tensorflow):
        found.append(get_message("ti.older", version=version))
    if folder := _folder(estimator.output_path):
        found.append(get_message("ti.output_folder", folder=folder))
    return found


def model_line(client: "Client", view: Mapping[str, Any]) -> str:
    """Return a line with the URI of a succeeded job's model, or a line that there is none."""
    if any(_is_no_model(line.text) for line in client.lines(view["id"], tail=_TAIL).lines):
        return get_message("ti.no_model")
    return get_message("ti.model", uri=model_uri(view))


def _is_no_model(line: str) -> bool:
    """Return True for the agent's line that there is no model, in any language and of any path."""
    values = {"what": "model", "path": "\0", "pack": MODEL}
    for lang in LANGUAGES:
        before, _, after = get_message_in(lang, "log.no_archive", **values).partition("\0")
        if line.startswith(_OURS + before) and line.endswith(after):
            return True
    return False


def _older(version: str) -> str:
    """Return the full version if it is older than TensorFlow 1.15, or an empty string."""
    full = spec.parse(version) or ""
    numbers = tuple(int(part) for part in full.split(".")[:2] if part)
    return full if numbers and numbers < _OLDEST else ""


def _folder(given: Any) -> Path | None:
    """Return the local folder of an output_path; None if it is a URI."""
    if given is None or "://" in str(given):
        return None
    path = local_path(str(given))
    return path.absolute() if path else None
