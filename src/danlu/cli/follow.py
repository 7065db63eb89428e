"""Output of a job's log and result.

Ctrl-C stops the output, not the job, and prints how to follow it again.
"""

import contextlib
import shutil
import threading
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

from danlu.cli.session import Session
from danlu.cli.text import cut
from danlu.errors import DanluError, JobFailed
from danlu.job.describe import (
    cause_of,
    cure_of,
    has_several,
    last_state,
    moving_line,
    next_command,
    shortened_text,
    steps_line,
)
from danlu.messages import get_message
from danlu.messages.text import duration, files_text, moment, size

View = Mapping[str, Any]

DETACHED = 130
_INTERVAL = 0.5
_OURS = "[danlu] "


def follow(session: Session, view: View, *, ours_apart: bool = False, **selection: Any) -> int:
    """Print log lines to stdout until the job ends; return the command's exit code.

    With ``ours_apart``, lines of the platform go to stderr and stdout has only those of the script.
    """
    try:
        with StatusLine(session, view["id"]) as moving:
            show = partial(show_lines, session, view["id"], ours_apart=ours_apart)
            show(on_partial=moving.begun, **selection)
        ended = session.client.wait(view["id"])
    except KeyboardInterrupt:
        session.screen.move("")
        session.screen.print_message("follow.detached", name=view["name"])
        return DETACHED
    if session.json:
        session.screen.json({"job": ended})
    return print_result(session, ended)


def show_lines(
    session: Session, reference: str, *, ours_apart: bool = False, **selection: Any
) -> None:
    """Print every line of a job as it arrives; with the task name if there are several tasks."""
    several: bool | None = None
    for line in session.client.follow(reference, **selection):
        if session.json:
            session.screen.json({"task": line.task, "text": line.text})
            continue
        if several is None:
            several = has_several(session.client.job(reference))
        text = with_task(session, line.task, line.text) if several else line.text
        if ours_apart and line.text.startswith(_OURS):
            session.screen.note(session.screen.paint(text, "dim", session.screen.err))
        else:
            session.screen.data(text)


def with_task(session: Session, task: str, text: str) -> str:
    return f"{session.screen.paint(f'[{task}]', 'dim')} {text}"


def print_result(session: Session, view: View) -> int:
    """Print how a job ended and what to do next; return 0, or 5 if it did not succeed."""
    if view["state"] == "succeeded":
        if not session.json:
            _print_success(session, view)
        return 0
    if not session.json:
        _print_failure(session, view)
    return JobFailed.exit_code


def _print_success(session: Session, view: View) -> None:
    screen = session.screen
    sentence = get_message("end.succeeded", name=view["name"], time=time_taken(view))
    screen.note(screen.paint(_with_shortened(sentence, view), "green", screen.err))
    for name, uri in view["spec"]["outputs"].items():
        screen.note(f"  {name}: {uri}")
    if cure := cure_of(view):
        screen.print_message("end.note", note=cure)
    else:
        _print_kept(session, view)


def _print_failure(session: Session, view: View) -> None:
    screen = session.screen
    state = get_message(f"state.{view['state']}")
    sentence = get_message("end.other", name=view["name"], state=state, time=time_taken(view))
    painted = screen.paint(_with_shortened(sentence, view), "red bold", screen.err)
    screen.note(get_message("end.cause", sentence=painted, cause=cause_of(view)).rstrip())
    if cure := cure_of(view):
        screen.print_message("end.cure", cure=cure)
    _print_kept(session, view)
    if command := next_command(view):
        screen.print_message("end.next", command=command)


def _with_shortened(sentence: str, view: View) -> str:
    shortened = shortened_text(view)
    if not shortened:
        return sentence
    key = "end.shortened" if view["shortened"]["rehearsal"] else "end.shortened_steps"
    return get_message(key, sentence=sentence, shortened=shortened)


def _print_kept(session: Session, view: View) -> None:
    outcomes = [task["outcome"] for task in view["tasks"] if task["outcome"]]
    kept = [outcome["kept"] for outcome in outcomes if outcome.get("kept")]
    if kept:
        whole = {name: sum(each[name] for each in kept) for name in ("files", "size", "models")}
        until = max(each["until"] for each in kept)
        session.screen.note(kept_text(view["name"], {**whole, "until": until}))


def kept_text(name: str, kept: View) -> str:
    """Return how many files of a working directory are kept, until when, and how to get them."""
    return get_message(
        "end.kept_models" if kept["models"] else "end.kept",
        name=name,
        files=files_text(kept["files"]),
        size=size(kept["size"]),
        until=moment(kept["until"]),
        models=kept["models"],
    )


def time_taken(view: View) -> str:
    """Return the time from the submission of a job to its end, or to now."""
    return duration((view.get("ended") or time.time()) - view["created"])


class StatusLine:
    """The status line of a job, redrawn in place. It is shown only on a terminal.

    Before the script writes output, the line shows phases and transfers. Later it shows the
    unfinished line of the script (a progress bar) or the current training step.
    """

    def __init__(self, session: Session, reference: str) -> None:
        self._session = session
        self._reference = reference
        self._begun = ""
        self._done = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> "StatusLine":
        if self._session.screen.moves and not self._session.json:
            self._thread = threading.Thread(target=self._watch, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        if self._thread is not None:
            self._thread.join(1)  # do not wait longer for a server that hangs
            self._session.screen.move("")

    def begun(self, lines: Mapping[str, str]) -> None:
        """Show the unfinished lines of tasks, from their last carriage return on."""
        if self._thread is not None and self._session.screen.columns:
            self._begun = next(filter(None, map(last_state, lines.values())), "")
            self._draw(self._begun)

    def _watch(self) -> None:
        """Redraw the line until the end. Errors are ignored; the log output reports them."""
        with contextlib.suppress(DanluError, OSError):
            while not self._done.wait(_INTERVAL):
                view = self._session.client.job(self._reference)
                now = time.time()
                self._draw(moving_line(view, now) or self._begun or steps_line(view, now))

    def _draw(self, text: str) -> None:
        self._session.screen.move(cut(text, shutil.get_terminal_size().columns - 1))
