"""A job as text: what ``danlu show`` prints."""

from collections.abc import Callable, Mapping
from typing import Any

from danlu.cli.follow import cause_of, cure_of, next_command, time_taken
from danlu.cli.layout import GAP, fields, table
from danlu.cli.phases import is_final, spans, task_name
from danlu.cli.render_steps import hang_text, steps_text
from danlu.cli.units import age, clock, duration, moment
from danlu.words import say

View = Mapping[str, Any]
Paint = Callable[[str, str], str]

STYLES = {
    "queued": "yellow",
    "starting": "yellow",
    "running": "blue",
    "stopping": "yellow",
    "succeeded": "green",
    "failed": "red",
    "stopped": "dim",
}


def state_word(state: str) -> str:
    return say(f"state.{state}")


def job(view: View, now: float, paint: Paint) -> list[str]:
    """Return the lines that tell everything about one job."""
    lines = fields(_head(view, now, paint))
    for title, body in (
        ("show.parameters", fields([(k, v) for k, v in view["spec"]["params"]], "  ")),
        ("show.inputs", fields(list(view["spec"]["inputs"].items()), "  ")),
        ("show.datasets", fields([(u, _title(d)) for u, d in view["datasets"].items()], "  ")),
        ("show.outputs", fields(list(view["spec"]["outputs"].items()), "  ")),
        ("show.env", fields(list(view["spec"]["env"].items()), "  ")),
        ("show.notes", [f"  {note}" for note in view["notes"]]),
        ("show.history", _history(view)),
        ("show.tasks", _tasks(view, now)),
        ("show.code_lines", _where(view)),
    ):
        if body:
            lines += ["", paint(say(title), "bold"), *body]
    return lines


def _head(view: View, now: float, paint: Paint) -> list[tuple[str, str]]:
    spec = view["spec"]
    rows = [
        (say("show.name"), paint(view["name"], "bold")),
        (say("show.state"), paint(state_word(view["state"]), STYLES[view["state"]])),
        (say("show.steps"), steps_text(view, living=not is_final(view))),
        (say("show.hang"), hang_text(view, now)),
        (say("show.cause"), cause_of(view)),
        (say("show.cure"), cure_of(view)),
        (say("show.next"), next_command(view)),
        (say("show.id"), view["id"]),
        (say("show.algorithm"), _algorithm(view)),
        (say("show.dialect"), spec["dialect"]),
        (say("show.entry"), spec["entry"]),
        ("TensorFlow", spec["tensorflow"]),
        (say("show.created"), f"{moment(view['created'])}  ({age(view['created'], now)})"),
        (say("show.time"), time_taken(view)),
        (say("show.attempt"), str(view["attempt"])),
        (say("show.resources"), _resources(spec["resources"])),
        (say("show.secrets"), " ".join(spec["secrets"])),
        (say("show.parent"), view["parent"]),
    ]
    return [(label, text) for label, text in rows if text]


def _algorithm(view: View) -> str:
    return _title(view["algorithm"]) if view["algorithm"] else ""


def _title(defined: View) -> str:
    return f"{defined['name']}:{defined['version']}"


def _resources(resources: View) -> str:
    parts = [say("show.nodes", nodes=resources["nodes"], cpus=f"{resources['cpus']:g}")]
    if resources["gpus"]:
        parts.append(say("show.gpus", gpus=resources["gpus"]))
    if resources["flavor"]:
        parts.append(resources["flavor"])
    return GAP.join(parts)


def _history(view: View) -> list[str]:
    rows = []
    for change in view["history"]:
        reason = say(f"reason.{change['reason']}") if change["reason"] else ""
        attempt = say("show.nth_attempt", attempt=change["attempt"]) if _retried(view) else ""
        rows.append((f"  {clock(change['at'])}", state_word(change["state"]), attempt, reason))
    return table(rows)


def _retried(view: View) -> bool:
    return any(change["attempt"] > 1 for change in view["history"])


def _tasks(view: View, now: float) -> list[str]:
    rows = []
    for task in view["tasks"]:
        times = [f"{span.name} {duration(span.seconds)}" for span in spans(task, now)]
        rows.append((f"  {task_name(task)}", _ending(task), " · ".join(times)))
    return table(rows)


def _ending(task: View) -> str:
    outcome = task["outcome"]
    if outcome is None:
        return say("show.lost") if task["lost"] else ""
    reason = say(f"reason.{outcome['reason']}")
    code = outcome["exit_code"]
    return reason if code in (None, 0) else f"{reason} ({say('show.exit', code=code)})"


def _where(view: View) -> list[str]:
    """The user's own lines of the traceback, outermost first, as Python shows them."""
    lines = []
    for task in view["tasks"]:
        failure = (task["outcome"] or {}).get("failure")
        if not failure or task_name(task) != (view["failed_task"] or task_name(task)):
            continue
        for frame in failure["frames"]:
            lines.append(f"  {frame['file']}:{frame['line']}  {frame['function']}".rstrip())
            if frame["text"]:
                lines.append(f"      {frame['text'].strip()}")
        if lines and failure["exception"]:
            lines.append(f"  {failure['exception']}: {failure['message']}".rstrip(": "))
    return lines
