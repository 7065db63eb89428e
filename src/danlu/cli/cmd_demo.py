"""danlu demo: a small training job of each service we run, end to end, with data made here."""

import random
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from danlu.cli.compose import compose
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
_METRIC = re.compile(
    r"held-out loss = ([0-9.]+)"  # a script
    r"|evaluation at step \d+: .*\bloss ([0-9.e-]+)"  # the driver of ModelMaker's functions
    r"|INFO:tensorflow:loss: ([0-9.e-]+)\t\["  # an evaluation of MoXing
)
_TENSORFLOW = ("kdl", "dls", "modelmaker")  # services whose program is written for it


@dataclass(frozen=True)
class Done:
    """One row of the table."""

    view: Mapping[str, Any]
    loss: float

    @property
    def output(self) -> str:
        """Where the model is; a KDL script keeps it where it was told to, and we are not."""
        return next(iter(self.view["spec"]["outputs"].values()), "-")


@click.command("demo", cls=Command)
@click.pass_obj
def command(session: Session) -> int:
    """Run a bundled job of each service: data from the object store, a model back to it."""
    if session.settings.server:
        raise Refused(say("demo.elsewhere"))
    stamp = time.strftime("%Y%m%d-%H%M%S")
    _write_points(session, f"obs://{BUCKET}/points/")
    if not session.json:
        session.screen.say("demo.data", uri=f"obs://{BUCKET}/points/")
    done = []
    for fields in _runnable(session, jobs(stamp)):
        folder = Path(__file__).with_name("demo") / fields["dialect"]
        view = submit(session, Submission(*compose(session, str(folder), fields)))
        code = accepted(session, view, detach=False)
        if code:
            if code == JobFailed.exit_code and not session.json:
                session.screen.say("demo.doctor")
            return code
        done.append(Done(session.client.job(view["id"]), _loss(session, view["id"])))
    _show(session, done)
    return 0


def jobs(stamp: str) -> Sequence[dict[str, Any]]:
    """Return the jobs, each in its service's own words; the schemes name the same bucket."""
    out = f"{BUCKET}/out/{stamp}"
    return (
        {
            "dialect": "modelarts",
            "boot_file": "train.py",
            "data_url": f"obs://{BUCKET}/points/",
            "train_url": f"obs://{out}/modelarts/",
            "parameters": {"max_steps": str(STEPS), "learning_rate": "0.1"},
        },
        {
            "dialect": "kdl",
            "module": "trainer.task",
            "job_args": f"--max_epochs {STEPS}",
            "parameters": {"learning_rate": "0.1", "model_version": ""},
        },
        {
            "dialect": "dls",
            "boot_file": "train.py",
            "data_url": f"s3://{BUCKET}/points/",
            "train_url": f"s3://{out}/dls/",
            "parameters": {"max_steps": str(STEPS)},
            "nodes": 2,
            "cpus": 0.5,
        },
        {
            "dialect": "ti",
            "entry_point": "train.py",
            "channels": {"train": f"cos://{BUCKET}/points/"},
            "output_path": f"cos://{out}/ti",
            "parameters": {"steps": STEPS, "lr": 0.1},
        },
        {
            "dialect": "modelmaker",
            "model_file": "model.py",
            "data": f"obs://{BUCKET}/points/",
            "outputs": {"model": f"obs://{out}/modelmaker/"},
            "parameters": {"train_max_steps": STEPS, "batch_size": 50, "learning_rate": 0.1},
        },
    )


def _runnable(session: Session, wanted: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
    """Return the jobs this machine has the packages for; say which are left out."""
    if find_spec("tensorflow") is not None:
        return wanted
    if not session.json:
        session.screen.say("demo.without", services=", ".join(_TENSORFLOW))
    return [fields for fields in wanted if fields["dialect"] not in _TENSORFLOW]


def _write_points(session: Session, uri: str) -> None:
    """Points of y = 3 x1 - 2 x2 + 0.5 with a little noise, the same on every machine."""
    from danlu.storage.locate import Stores

    chance = random.Random(0)
    lines = ["x1,x2,y"]
    for _ in range(500):
        x1, x2 = chance.uniform(-1, 1), chance.uniform(-1, 1)
        lines.append(f"{x1:.6f},{x2:.6f},{3 * x1 - 2 * x2 + 0.5 + chance.gauss(0, 0.05):.6f}")
    place = Stores.of(session.settings).at(f"{uri}points.csv")
    place.storage.write(place.key, "\n".join(lines).encode())


def _loss(session: Session, job: str) -> float:
    """Return what the script printed last; every program of the demo prints it."""
    found = [_METRIC.search(line.text) for line in session.client.follow(job)]
    return float(next(match[match.lastindex or 0] for match in reversed(found) if match))


def _show(session: Session, done: Sequence[Done]) -> None:
    if session.json:
        for one in done:
            metrics = {"steps": STEPS, "loss": one.loss}
            session.screen.json({"job": one.view["name"], "metrics": metrics, "output": one.output})
        return
    rows = [
        (
            one.view["name"],
            one.view["spec"]["dialect"],
            str(STEPS),
            f"loss = {one.loss:.6f}",
            one.output,
            time_taken(one.view),
        )
        for one in done
    ]
    head = tuple(say(f"demo.{name}") for name in _COLUMNS)
    session.screen.note("")
    session.screen.data("\n".join(table([head, *rows])))
