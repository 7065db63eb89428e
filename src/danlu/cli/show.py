"""Jobs, plans, reports and definitions as lines of text, for ``danlu show`` and others."""

import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from danlu.cli.follow import kept_text, time_taken
from danlu.cli.session import Session
from danlu.cli.text import GAP, fields, table
from danlu.job.describe import (
    cause_of,
    cure_of,
    hang_text,
    is_final,
    next_command,
    shortened_text,
    spans,
    steps_text,
    task_name,
)
from danlu.messages import get_message
from danlu.messages.text import age, clock, duration, files_text, moment, size

Wire = Mapping[str, Any]


def plan(planned: Wire) -> list[str]:
    """Return the lines of ``--dry-run``."""
    job = planned["job"]
    lines = [f"{job['name']}  {job['spec']['dialect']}"]
    for task in planned["tasks"]:
        lines += ["", *_task(task)]
    return lines


def arguments(command: Wire) -> str:
    """Return the equivalent shell command line."""
    start = ["python", "-m"] if command["module"] else ["python"]
    return shlex.join([*start, command["run"], *command["args"]])


def _task(task: Wire) -> list[str]:
    command, place = task["command"], task["place"]
    rows = [
        (get_message("plan.install"), _lines(map(_installed, command["install"]))),
        (get_message("plan.before"), command["before"]),
        (get_message("plan.command"), arguments(command)),
        (get_message("plan.after"), command["after"]),
        (get_message("plan.cwd"), command["cwd"]),
        (get_message("plan.env"), _lines(f"{k}={v}" for k, v in command["env"].items())),
        (get_message("plan.secrets"), " ".join(task["secrets"])),
        (get_message("plan.gpus"), " ".join(place["gpus"])),
        (get_message("plan.path"), _lines(command["sys_path"])),
        (get_message("plan.fetch"), _lines(f"{f['to']}  ←  {f['uri']}" for f in command["fetch"])),
        (get_message("plan.push"), _lines(map(_pushed, command["push"]))),
        (get_message("plan.private"), " ".join(command["private"])),
        (get_message("plan.folders"), _lines(command["folders"])),
        (get_message("plan.files"), _lines(command["files"])),
    ]
    name = f"{place['role']}-{place['index']}"
    return [name, *fields([(label, text) for label, text in rows if text], indent="  ")]


def _installed(item: Wire) -> str:
    path = str(item["path"])
    return get_message("plan.package", path=path) if item["package"] else path


def _pushed(item: Wire) -> str:
    archive = f"/{item['pack']}" if item["pack"] else ""
    line = f"{item['path']}  →  {item['uri'].rstrip('/') if archive else item['uri']}{archive}"
    return get_message("plan.restored", line=line) if item["restore"] else line


def _lines(items: Any) -> str:
    listed: Sequence[str] = list(items)
    return "\n".join(listed)


View = Mapping[str, Any]
Paint = Callable[[str, str], str]

KINDS = ("errors", "gone", "missing", "repaired", "mapped", "relaxed")  # most severe first
FAILING = ("errors", "gone", "missing")


def translation_report(view: View, paint: Paint) -> list[str]:
    """Return the lines of ``danlu show --translation``."""
    lines = fields([("TensorFlow", view["tensorflow"])]) if view["tensorflow"] else []
    body = groups(view, paint)
    if not body:
        ending = "translation.none" if view["ended"] else "translation.none_yet"
        return [*lines, get_message(ending)]
    if view["left_out"]:
        body += ["", get_message("translation.left_out", count=view["left_out"])]
    return [*lines, *body[0 if lines else 1 :]]


def groups(view: View, paint: Paint) -> list[str]:
    """Return a heading and the notes of every kind that has notes, each after an empty line."""
    lines: list[str] = []
    for kind in KINDS:
        if notes := view.get(kind):
            style = "red bold" if kind in FAILING else "bold"
            lines += ["", paint(get_message(f"translation.{kind}"), style), *_notes(notes)]
    return lines


def _notes(notes: Sequence[View]) -> list[str]:
    return table([(f"  {_place(note)}", str(note["text"])) for note in notes])


def _place(note: View) -> str:
    return f"{note['file']}:{note['line']}" if note["file"] and note["line"] else str(note["file"])


BARS = "▁▂▃▄▅▆▇█"
_CELLS = 24
_COLUMNS = ("run", "tag", "first", "last", "min", "max", "steps")


def curves_report(view: View, paint: Paint) -> list[str]:
    """Return the lines of ``danlu show --curves``."""
    curves = view["curves"]
    if not curves:
        return [get_message("curves.none" if view["ended"] else "curves.none_yet")]
    several = len({curve["task"] for curve in curves}) > 1
    names = ("task", *_COLUMNS) if several else _COLUMNS
    rows = [[*(paint(get_message(f"curves.{name}"), "bold") for name in names), ""]]
    for curve in curves:
        row = [curve["run"], curve["tag"], *_numbers(curve["points"]), spark(curve["points"])]
        rows.append([curve["task"], *row] if several else row)
    lines = table(rows)
    if view["left_out"]:
        lines += ["", get_message("curves.left_out", count=view["left_out"])]
    return lines


def _numbers(points: Sequence[Sequence[Any]]) -> list[str]:
    values = [value for _, _, value in points]
    finite = [value for value in values if not isinstance(value, str)] or ["-"]
    least, greatest = (finite[0], finite[0]) if finite == ["-"] else (min(finite), max(finite))
    steps = f"{points[0][0]}-{points[-1][0]}"
    return [*map(_number, (values[0], values[-1], least, greatest)), steps]


def _number(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"


def spark(points: Sequence[Sequence[Any]], cells: int = _CELLS) -> str:
    """Return a curve as a line of bar characters over its steps.

    A cell that has only NaN or infinite values is a cross.
    """
    first, last = points[0][0], points[-1][0]
    width = max((last - first) / min(cells, len(points)), 1e-9)
    gathered: list[list[float]] = [[] for _ in range(min(cells, len(points)))]
    broken = set()
    for step, _, value in points:
        at = min(max(int((step - first) / width), 0), len(gathered) - 1)
        if isinstance(value, str):
            broken.add(at)
        else:
            gathered[at].append(value)
    means = [math.fsum(values) / len(values) if values else None for values in gathered]
    return _drawn(means, broken)


def _drawn(means: Sequence[float | None], broken: set[int]) -> str:
    known = [mean for mean in means if mean is not None]
    low, high = min(known, default=0.0), max(known, default=0.0)
    drawn, before = "", " "
    for at, mean in enumerate(means):
        if mean is not None:
            part = (mean - low) / (high - low) if high > low else 0.0
            before = BARS[min(int(part * len(BARS)), len(BARS) - 1)]
        drawn += "×" if at in broken and mean is None else before
    return drawn


def made(session: Session, view: View, use: str) -> None:
    """Print the version that was created, and the message ``use`` on how to use it."""
    if session.json:
        session.screen.json(view)
        return
    session.screen.data(f"{view['name']}:{view['version']}")
    session.screen.print_message(use, name=view["name"])


def removed(session: Session, reference: str) -> None:
    if session.json:
        session.screen.json({"removed": reference})
    else:
        session.screen.print_message("definition.removed", name=reference)


def listed(
    session: Session,
    found: Sequence[View],
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    quiet: bool,
    none: str,
) -> None:
    """Print a table with name and version of each definition, then the columns of ``rows``."""
    screen = session.screen
    if quiet:
        for view in found:
            screen.data(view["name"])
        return
    if not found:
        screen.print_message(none)
        return
    titles = [get_message(key) for key in ("definition.name", "definition.version", *head)]
    lines = [[screen.paint(title, "bold") for title in titles]]
    for view, row in zip(found, rows, strict=True):
        lines.append([view["name"], str(view["version"]), *row])
    screen.data("\n".join(table(lines, screen.columns)))


def algorithm(view: View, now: float, paint: Paint) -> list[str]:
    head = [
        *_definition_head(view, now, paint),
        (get_message("algorithm.code"), view["code_origin"] or view["code"]),
        (get_message("algorithm.boot_file"), view["boot_file"]),
        (get_message("algorithm.flavor"), view["flavor"]),
    ]
    lines = fields([(label, text) for label, text in head if text])
    for title, body in (
        ("show.inputs", [_channel(item) for item in view["inputs"]]),
        ("show.outputs", [_channel(item) for item in view["outputs"]]),
        ("show.parameters", [_parameter(item) for item in view["parameters"]]),
    ):
        if body:
            lines += ["", paint(get_message(title), "bold"), *table(body)]
    if not view["parameters_customization"]:
        lines += ["", get_message("algorithm.no_others")]
    return lines


def dataset(view: View, now: float, paint: Paint) -> list[str]:
    head = [
        *_definition_head(view, now, paint),
        (get_message("dataset.uri"), view["uri"]),
        (get_message("dataset.contents"), _contents(view["contents"])),
        (get_message("dataset.digest"), view["contents"]["digest"]),
    ]
    if view["now"]["digest"] != view["contents"]["digest"]:
        changed = get_message("dataset.changed", now=_contents(view["now"]))
        head.append((get_message("dataset.now"), paint(changed, "yellow")))
    return fields([(label, text) for label, text in head if text])


def _definition_head(view: View, now: float, paint: Paint) -> list[tuple[str, str]]:
    return [
        (get_message("definition.name"), paint(view["name"], "bold")),
        (get_message("definition.version"), str(view["version"])),
        (get_message("definition.versions"), " ".join(map(str, view["versions"]))),
        (get_message("definition.description"), view["description"]),
        (get_message("show.created"), f"{moment(view['created'])}  ({age(view['created'], now)})"),
    ]


def _contents(contents: View) -> str:
    return get_message(
        "dataset.amount", files=files_text(contents["files"]), size=size(contents["size"])
    )


def _channel(item: View) -> list[str]:
    needed = get_message("definition.required") if item["required"] else ""
    return [f"  {item['name']}", needed, item["description"]]


def _parameter(item: View) -> list[str]:
    constraint = item["constraint"]
    marks = [get_message("definition.required")] if constraint["required"] else []
    marks += [] if constraint["editable"] else [get_message("definition.fixed")]
    default = constraint["default"]
    return [
        f"  {item['name']}",
        constraint["type"],
        "" if default is None else f"= {default}",
        _allowed(constraint),
        " ".join(marks),
        item["description"],
    ]


def _allowed(constraint: View) -> str:
    joint = " … " if constraint["valid_type"] == "range" else " | "
    return joint.join(constraint["valid_range"])


def isolation_text(view: Mapping[str, Any]) -> str:
    """Return the isolation of a job as text; empty before its script has started.

    Tasks may run on machines that differ. Each kind of isolation is listed once.
    """
    found = [(task.get("progress") or {}).get("isolated") for task in view["tasks"]]
    return "; ".join(dict.fromkeys(_text(each) for each in found if each))


def _text(isolated: Mapping[str, Any]) -> str:
    namespace = isolated["namespace"]
    if namespace == "none":
        parts = [get_message("isolation.none")]
    else:
        parts = [get_message("isolation.namespace", namespace=namespace)]
        parts.append(
            get_message("isolation.overlay" if isolated["overlay"] else "isolation.copies")
        )
        if isolated["tmp"]:
            parts.append(get_message("isolation.tmp", free=size(isolated["tmp_free"])))
        else:
            parts.append(get_message("isolation.tmp_shared"))
        if isolated["shm"]:
            parts.append(get_message("isolation.shm", limit=size(isolated["shm"])))
    if isolated["cgroup"]:
        parts.append(get_message("isolation.cgroup"))
    if isolated["processes"]:
        parts.append(get_message("isolation.processes", most=isolated["processes"]))
    if isolated["missing"]:
        parts.append(get_message("isolation.missing", names=", ".join(isolated["missing"])))
    return " · ".join(parts)


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
    return get_message(f"state.{state}")


def job(view: View, now: float, paint: Paint) -> list[str]:
    """Return the lines of ``danlu show`` for one job."""
    lines = fields(_job_head(view, now, paint))
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
        ("show.own_traceback", _own_traceback(view)),
    ):
        if body:
            lines += ["", paint(get_message(title), "bold"), *body]
    return lines


def kept(view: View, found: View, paint: Paint) -> list[str]:
    """Return lines about the kept files of the working directory; empty if there are none."""
    lines = []
    if found["kept"]:
        lines.append(f"  {kept_text(view['name'], found['kept'])}")
    if found["removed"]:
        lines.append(f"  {get_message('show.kept_removed', count=found['removed'])}")
    return ["", paint(get_message("show.kept"), "bold"), *lines] if lines else []


def _job_head(view: View, now: float, paint: Paint) -> list[tuple[str, str]]:
    spec = view["spec"]
    rows = [
        (get_message("show.name"), paint(view["name"], "bold")),
        (get_message("show.state"), paint(state_word(view["state"]), STYLES[view["state"]])),
        (get_message("show.steps"), steps_text(view, living=not is_final(view))),
        (get_message("show.shortened"), shortened_text(view)),
        (get_message("show.hang"), hang_text(view, now)),
        (get_message("show.waits"), view["waits"]),
        (get_message("show.waiting"), _waiting(view)),
        (get_message("show.cause"), cause_of(view)),
        (get_message("show.cure"), cure_of(view)),
        (get_message("show.next"), next_command(view)),
        (get_message("show.id"), view["id"]),
        (get_message("show.algorithm"), _algorithm(view)),
        (get_message("show.dialect"), spec["dialect"]),
        (get_message("show.entry"), spec["entry"]),
        ("TensorFlow", spec["tensorflow"]),
        (get_message("show.created"), f"{moment(view['created'])}  ({age(view['created'], now)})"),
        (get_message("show.time"), time_taken(view)),
        (get_message("show.attempt"), str(view["attempt"])),
        (get_message("show.resources"), _resources(spec["resources"])),
        (get_message("show.isolation"), isolation_text(view)),
        (get_message("show.secrets"), " ".join(spec["secrets"])),
        (get_message("show.parent"), view["parent"]),
    ]
    return [(label, text) for label, text in rows if text]


def _waiting(view: View) -> str:
    """Return the store that a job waits for, and until when; empty if it does not wait."""
    for task in view["tasks"]:
        waiting = (task["progress"] or {}).get("waiting")
        if waiting and not task["outcome"] and not is_final(view):
            return get_message(
                "show.waiting_text", until=clock(waiting["until"]), why=waiting["why"]
            )
    return ""


def _algorithm(view: View) -> str:
    return _title(view["algorithm"]) if view["algorithm"] else ""


def _title(defined: View) -> str:
    return f"{defined['name']}:{defined['version']}"


def _resources(resources: View) -> str:
    parts = [get_message("show.nodes", nodes=resources["nodes"], cpus=f"{resources['cpus']:g}")]
    if resources["gpus"]:
        parts.append(get_message("show.gpus", gpus=resources["gpus"]))
    if resources["flavor"]:
        parts.append(resources["flavor"])
    return GAP.join(parts)


def _history(view: View) -> list[str]:
    rows = []
    for change in view["history"]:
        reason = get_message(f"reason.{change['reason']}") if change["reason"] else ""
        attempt = (
            get_message("show.nth_attempt", attempt=change["attempt"]) if _retried(view) else ""
        )
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
        return get_message("show.lost") if task["lost"] else ""
    reason = get_message(f"reason.{outcome['reason']}")
    code = outcome["exit_code"]
    return reason if code in (None, 0) else f"{reason} ({get_message('show.exit', code=code)})"


def _failures(view: View) -> list[View]:
    """Return the failure records of the task that failed first; of all tasks if it is unknown."""
    return [
        task["outcome"]["failure"]
        for task in view["tasks"]
        if task["outcome"]
        and task["outcome"].get("failure")
        and task_name(task) == (view["failed_task"] or task_name(task))
    ]


def _own_traceback(view: View) -> list[str]:
    """Return the traceback of an error in Danlu's own code, without terminal controls."""
    text = "\n".join(failure.get("traceback", "") for failure in _failures(view)).expandtabs()
    plain = "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in text)
    return [f"  {line}" for line in plain.splitlines() if line.strip()]


def _where(view: View) -> list[str]:
    """Return the traceback lines of the user's own code, outermost first, as Python prints them."""
    lines = []
    for failure in _failures(view):
        for frame in failure["frames"]:
            lines.append(f"  {frame['file']}:{frame['line']}  {frame['function']}".rstrip())
            if frame["text"]:
                lines.append(f"      {frame['text'].strip()}")
        if lines and failure["exception"]:
            lines.append(f"  {failure['exception']}: {failure['message']}".rstrip(": "))
    return lines
