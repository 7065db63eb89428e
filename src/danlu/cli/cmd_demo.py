"""danlu demo: a small training job of each service we run, end to end, with data made here."""

import json
import random
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from danlu.cli.code import locate
from danlu.cli.follow import time_taken
from danlu.cli.layout import table
from danlu.cli.options import Command
from danlu.cli.session import Session
from danlu.cli.submission import Submission, accepted, submit
from danlu.errors import JobFailed, Refused
from danlu.words import say

BUCKET = "danlu-demo"
STEPS = 200
_COLUMNS = ("job", "service", "steps", "metric", "output", "time")


@click.command("demo", cls=Command)
@click.pass_obj
def command(session: Session) -> int:
    """Run a bundled ModelArts job: data from the object store, a model back to it."""
    if session.settings.server:
        raise Refused(say("demo.elsewhere"))
    stamp = time.strftime("%Y%m%d-%H%M%S")
    data, output = f"obs://{BUCKET}/points/", f"obs://{BUCKET}/out/{stamp}/"
    _write_points(session, data)
    if not session.json:
        session.screen.say("demo.data", uri=data)
    view = submit(session, _submission(data, output))
    code = accepted(session, view, detach=False)
    if code == 0:
        _show(session, session.client.job(view["id"]), output)
    elif code == JobFailed.exit_code and not session.json:
        session.screen.say("demo.doctor")
    return code


def _submission(data: str, output: str) -> Submission:
    request = {
        "dialect": "modelarts",
        "data_url": data,
        "train_url": output,
        "parameters": {"max_steps": str(STEPS), "learning_rate": "0.1"},
    }
    folder = Path(__file__).with_name("demo")
    return Submission(request, locate(str(folder), "train.py"))


def _write_points(session: Session, uri: str) -> None:
    """Points of y = 3 x1 - 2 x2 + 0.5 with a little noise, the same on every machine."""
    from danlu.storage.locate import Stores

    chance = random.Random(0)
    lines = ["x1,x2,y"]
    for _ in range(500):
        x1, x2 = chance.uniform(-1, 1), chance.uniform(-1, 1)
        lines.append(f"{x1:.6f},{x2:.6f},{3 * x1 - 2 * x2 + 0.5 + chance.gauss(0, 0.05):.6f}")
    place = Stores(session.settings.store).at(f"{uri}points.csv")
    place.storage.write(place.key, "\n".join(lines).encode())


def _show(session: Session, view: Mapping[str, Any], output: str) -> None:
    metrics = _metrics(session, output)
    if session.json:
        session.screen.json({"metrics": metrics, "output": output})
        return
    row = (
        view["name"],
        view["spec"]["dialect"],
        str(metrics["steps"]),
        f"loss = {metrics['loss']:.6f}",
        output,
        time_taken(view),
    )
    head = tuple(say(f"demo.{name}") for name in _COLUMNS)
    session.screen.note("")
    session.screen.data("\n".join(table([head, row])))


def _metrics(session: Session, output: str) -> dict[str, Any]:
    from danlu.storage.locate import Stores

    place = Stores(session.settings.store).at(f"{output}metrics.json")
    with place.storage.open(place.key) as file:
        found: dict[str, Any] = json.load(file)
    return found
