"""Follows a job to its end: its output, line by line, and between the lines what it is doing."""

import contextlib
import threading
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from danlu.errors import DanluError
from danlu.job.output import Line
from danlu.words import say
from ti.describing import Transition, moment, transitions
from ti.telling import progress, times
from ti.terminal import Terminal

if TYPE_CHECKING:
    from danlu.client import Client

View = Mapping[str, Any]

_OURS = "[danlu] "
_OFTEN, _SELDOM = 0.3, 2.0  # seconds between two looks; the second where nothing moves
_ENDS = ("Completed", "Failed", "Stopped")
_LOOKS = 50  # for the news that a script has begun whose first line is here


def follow(client: "Client", view: View, *, logs: bool, terminal: Terminal) -> View:
    """Return the job when it has ended, having printed what it wrote (``logs``) and went through.

    An interrupt leaves the job alone and says how to come back.
    """
    try:
        with _telling(client, view["id"], terminal) as teller:
            if logs:
                teller.withhold("Uploading", *_ENDS)
                show_output(client, view["id"], terminal, teller)
                teller.withhold()
            ended = client.wait(view["id"])
    except KeyboardInterrupt:
        terminal.line(_detached(view["name"]))
        raise
    teller.tell(ended)
    for text in times(ended):
        terminal.line(f"{ended['name']}: {text}")
    return ended


def show_output(
    client: "Client",
    reference: str,
    terminal: Terminal,
    teller: "_Teller | None" = None,
    *,
    wait: bool = True,
) -> None:
    """Print every line of a job, until it has ended or as far as it is; tasks are named where
    there are several."""
    several: bool | None = None
    speaks = False
    begun = teller.begin if teller else None
    lines = client.follow(reference, on_partial=begun) if wait else _so_far(client, reference)
    for line in lines:
        if several is None:
            several = len(client.job(reference).get("plan") or ()) > 1
        if teller and not speaks and not line.text.startswith(_OURS):
            speaks = True
            _tell_beginning(teller, client, reference)
            teller.withhold(*_ENDS)
        # Of a bar that rewrites itself the last state counts.
        text = _last_state(line.text)
        terminal.line(f"[{line.task}] {text}" if several else text)


def _tell_beginning(teller: "_Teller", client: "Client", reference: str) -> None:
    """Say that the script has begun, before its first line: its output may be here sooner than the
    news of that."""
    for _ in range(_LOOKS):
        teller.tell(client.job(reference))
        if teller.has_begun:
            return
        time.sleep(_OFTEN / 10)


def _last_state(text: str) -> str:
    return text.rstrip("\r").rpartition("\r")[2]


def _so_far(client: "Client", reference: str) -> Iterator[Line]:
    cursor = ""
    while True:
        found = client.lines(reference, cursor=cursor)
        yield from found.lines
        if found.ended or not found.lines:
            return
        cursor = found.cursor


def _detached(name: str) -> str:
    words = say("follow.detached", name=name)
    return f"{words}, or: attach(training_job_name={name!r})"


class _Teller:
    """Prints each transition once, and keeps the moving line."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._told: set[Transition] = set()
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
        """Leave these for later: a quick job has ended before its first line is printed."""
        self._withheld = statuses

    def begin(self, lines: Mapping[str, str]) -> None:
        """Take the lines that tasks have begun: a bar of the script's own, say."""
        self._begun = next(filter(None, map(_last_state, lines.values())), "")
        if self._begun:
            self._terminal.move(self._begun)

    def tell(self, view: View) -> None:
        with self._lock:
            for change in transitions(view):
                if change not in self._told and change.status not in self._withheld:
                    self._told.add(change)
                    self._print(change)
            self._terminal.move(self._begun or progress(view, time.time()))

    def _print(self, change: Transition) -> None:
        """Only a new status is a line: its parts are too quick to be read."""
        if change.status == self._status:
            return
        self._status = change.status
        attempt = f" (attempt {change.attempt})" if change.attempt > 1 else ""
        text = f"{moment(change.began)} {change.status} - {change.message}{attempt}"
        self._terminal.line(text)


@contextlib.contextmanager
def _telling(client: "Client", reference: str, terminal: Terminal) -> Iterator[_Teller]:
    """Look at the job again and again, in a thread, while the caller reads its output."""
    teller, done = _Teller(terminal), threading.Event()

    def look() -> None:
        # Trouble with this is not worth a word: who reads the output tells of it.
        with contextlib.suppress(DanluError, OSError):
            while True:
                view = client.job(reference)
                teller.tell(view)
                quiet = teller.training and not terminal.moves
                if done.wait(_SELDOM if quiet else _OFTEN):
                    return

    thread = threading.Thread(target=look, name="ti-following", daemon=True)
    thread.start()
    try:
        yield teller
    finally:
        done.set()
        thread.join(5)
        terminal.move("")
