"""Shows a job's output until it ends. Ctrl-C leaves the job alone and says how to come back."""

import contextlib
import shutil
import threading
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

from danlu.cli.layout import cut
from danlu.cli.phases import is_final, moving_line
from danlu.cli.render_steps import steps_text, still_text
from danlu.cli.session import Session
from danlu.cli.units import duration
from danlu.errors import DanluError, JobFailed
from danlu.words import language, say

View = Mapping[str, Any]

DETACHED = 130
_EVERY = 0.5
_OURS = "[danlu] "


def follow(session: Session, view: View, *, ours_apart: bool = False, **selection: Any) -> int:
    """Print log lines to stdout until the job ends; return the command's exit code.

    ``ours_apart``: lines of the platform go to stderr, so that stdout is the script's alone.
    """
    try:
        with Moving(session, view["id"]) as moving:
            show = partial(show_lines, session, view["id"], ours_apart=ours_apart)
            show(on_partial=moving.begun, **selection)
        ended = session.client.wait(view["id"])
    except KeyboardInterrupt:
        session.screen.move("")
        session.screen.say("follow.detached", name=view["name"])
        return DETACHED
    if session.json:
        session.screen.json({"job": ended})
    return tell_end(session, ended)


def show_lines(
    session: Session, reference: str, *, ours_apart: bool = False, **selection: Any
) -> None:
    """Print every line of a job as it comes; names of tasks only where there are several."""
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


def has_several(view: View) -> bool:
    return len(view.get("plan") or ()) > 1


def with_task(session: Session, task: str, text: str) -> str:
    return f"{session.screen.paint(f'[{task}]', 'dim')} {text}"


def tell_end(session: Session, view: View) -> int:
    """Say how a job ended and what to do next; return 0, or 5 when it did not end well."""
    if view["state"] == "succeeded":
        if not session.json:
            _tell_success(session, view)
        return 0
    if not session.json:
        _tell_failure(session, view)
    return JobFailed.exit_code


def _tell_success(session: Session, view: View) -> None:
    screen = session.screen
    sentence = say("end.succeeded", name=view["name"], time=time_taken(view))
    screen.note(screen.paint(sentence, "green", screen.err))
    for name, uri in view["spec"]["outputs"].items():
        screen.note(f"  {name}: {uri}")
    if cure := cure_of(view):
        screen.say("end.note", note=cure)


def _tell_failure(session: Session, view: View) -> None:
    screen = session.screen
    state = say(f"state.{view['state']}")
    sentence = say("end.other", name=view["name"], state=state, time=time_taken(view))
    painted = screen.paint(sentence, "red bold", screen.err)
    screen.note(say("end.cause", sentence=painted, cause=cause_of(view)).rstrip())
    if cure := cure_of(view):
        screen.say("end.cure", cure=cure)
    if command := next_command(view):
        screen.say("end.next", command=command)


def cause_of(view: View) -> str:
    """Return why a job ended, in the language chosen; empty where there is nothing to say."""
    cause = view.get("cause")
    if view["state"] == "succeeded":
        return ""
    if cause:
        return str(cause[language()])
    if view.get("reason") and view["reason"] != "done":
        return say(f"reason.{view['reason']}")
    return ""


def cure_of(view: View) -> str:
    """Return how to cure a pitfall that is known, in the language chosen, else ""."""
    card = (view.get("cause") or {}).get("card")
    return str(card[language()]) if card else ""


def next_command(view: View) -> str:
    return str((view.get("cause") or view.get("hang") or {}).get("next", ""))


def time_taken(view: View) -> str:
    """From the moment it was accepted to its end, or to now."""
    return duration((view.get("ended") or time.time()) - view["created"])


def _steps_line(view: View) -> str:
    text = "" if is_final(view) else still_text(view, time.time()) or steps_text(view)
    return f"{view['name']}: {text}" if text else ""


class Moving:
    """The line that rewrites itself: phases and transfers before the script speaks, then the
    line the script has begun (a progress bar), or the step its training is at. Only on a terminal;
    where there is none, nothing."""

    def __init__(self, session: Session, reference: str) -> None:
        self._session = session
        self._reference = reference
        self._begun = ""
        self._done = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> "Moving":
        if self._session.screen.moves and not self._session.json:
            self._thread = threading.Thread(target=self._watch, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        if self._thread is not None:
            self._thread.join(1)  # a server that hangs must not hold a person who leaves
            self._session.screen.move("")

    def begun(self, lines: Mapping[str, str]) -> None:
        """Take the lines tasks have begun; the state after the last carriage return counts."""
        if self._thread is not None and self._session.screen.columns:
            texts = [text.rstrip("\r").rpartition("\r")[2] for text in lines.values()]
            self._begun = next((text for text in texts if text), "")
            self._draw(self._begun)

    def _watch(self) -> None:
        """A trouble with this line is not worth a word: the log itself tells of it."""
        with contextlib.suppress(DanluError, OSError):
            while not self._done.wait(_EVERY):
                view = self._session.client.job(self._reference)
                self._draw(moving_line(view, time.time()) or self._begun or _steps_line(view))

    def _draw(self, text: str) -> None:
        self._session.screen.move(cut(text, shutil.get_terminal_size().columns - 1))
