"""A plan as text: exactly what each task will be given."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from danlu.cli.layout import fields
from danlu.words import say

Wire = Mapping[str, Any]


def plan(planned: Wire) -> list[str]:
    """Return the lines of ``--dry-run``."""
    job = planned["job"]
    lines = [f"{job['name']}  {job['spec']['dialect']}"]
    for task in planned["tasks"]:
        lines += ["", *_task(task)]
    return lines


def arguments(command: Wire) -> str:
    """Return the command line a shell would need to do the same."""
    start = ["python", "-m"] if command["module"] else ["python"]
    return shlex.join([*start, command["run"], *command["args"]])


def _task(task: Wire) -> list[str]:
    command, place = task["command"], task["place"]
    rows = [
        (say("plan.install"), _lines(map(_installed, command["install"]))),
        (say("plan.before"), command["before"]),
        (say("plan.command"), arguments(command)),
        (say("plan.after"), command["after"]),
        (say("plan.cwd"), command["cwd"]),
        (say("plan.env"), _lines(f"{k}={v}" for k, v in command["env"].items())),
        (say("plan.secrets"), " ".join(task["secrets"])),
        (say("plan.gpus"), " ".join(place["gpus"])),
        (say("plan.path"), _lines(command["sys_path"])),
        (say("plan.fetch"), _lines(f"{f['to']}  ←  {f['uri']}" for f in command["fetch"])),
        (say("plan.push"), _lines(map(_pushed, command["push"]))),
        (say("plan.private"), " ".join(command["private"])),
        (say("plan.folders"), _lines(command["folders"])),
        (say("plan.files"), _lines(command["files"])),
    ]
    name = f"{place['role']}-{place['index']}"
    return [name, *fields([(label, text) for label, text in rows if text], indent="  ")]


def _installed(item: Wire) -> str:
    path = str(item["path"])
    return say("plan.package", path=path) if item["package"] else path


def _pushed(item: Wire) -> str:
    archive = f"/{item['pack']}" if item["pack"] else ""
    line = f"{item['path']}  →  {item['uri'].rstrip('/') if archive else item['uri']}{archive}"
    return say("plan.restored", line=line) if item["restore"] else line


def _lines(items: Any) -> str:
    listed: Sequence[str] = list(items)
    return "\n".join(listed)
