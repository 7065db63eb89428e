"""The command ``danlu demo``: one small training job per service, with generated data."""

import random
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from danlu.cli.follow import time_taken
from danlu.cli.options import CliCommand
from danlu.cli.request import compose_request
from danlu.cli.session import Session
from danlu.cli.submit import Submission, accepted, submit
from danlu.cli.text import table
from danlu.errors import JobFailed, Refused
from danlu.messages import get_message

BUCKET = "danlu-demo"
STEPS = 200
_COLUMNS = ("job", "service", "steps", "metric", "output", "time")
_METRIC = re.compile(
    r"held-out loss = ([0-9.]+)"  # a script
    # The driver of ModelMaker's functions: the message modelmaker.evaluation, in both languages.
    r"|(?:evaluation at step \d+: |第 \d+ 步的评估：).*\bloss ([0-9.e-]+)"
    r"|INFO:tensorflow:loss: ([0-9.e-]+)\t\["  # an evaluation of MoXing
)
_TENSORFLOW = ("kdl", "dls", "modelmaker")  # services with a demo that needs TensorFlow


@dataclass(frozen=True)
class Done:
    """A finished job of the demo and its final loss."""

    view: Mapping[str, Any]
    loss: float

    @property
    def output(self) -> str:
        """The URI of the model, or "-". A KDL job has no outputs; its script chooses the path."""
        return next(iter(self.view["spec"]["outputs"].values()), "-")


@click.command("demo", cls=CliCommand)
@click.pass_obj
def demo_command(session: Session) -> int:
    """Run a bundled job of each service: data from the object store, a model back to it."""
    if session.settings.server:
        raise Refused(get_message("demo.elsewhere"))
    stamp = time.strftime("%Y%m%d-%H%M%S")
    _write_points(session, f"obs://{BUCKET}/points/")
    if not session.json:
        session.screen.print_message("demo.data", uri=f"obs://{BUCKET}/points/")
    done = []
    for fields in _runnable(session, jobs(stamp)):
        folder = Path(__file__).parents[1] / "demo" / fields["dialect"]
        view = submit(session, Submission(*compose_request(session, str(folder), fields)))
        code = accepted(session, view, detach=False)
        if code:
            if code == JobFailed.exit_code and not session.json:
                session.screen.print_message("demo.doctor")
            return code
        done.append(Done(session.client.job(view["id"]), _loss(session, view["id"])))
    _show(session, done)
    return 0


def jobs(stamp: str) -> Sequence[dict[str, Any]]:
    """Return the jobs, each with the fields of its service. All URIs are in the same bucket."""
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
    """Return the jobs that can run with the installed packages; print which are left out."""
    if find_spec("tensorflow") is not None:
        return wanted
    if not session.json:
        session.screen.print_message("demo.without", services=", ".join(_TENSORFLOW))
    return [fields for fields in wanted if fields["dialect"] not in _TENSORFLOW]


def _write_points(session: Session, uri: str) -> None:
    """Write 500 points of y = 3 x1 - 2 x2 + 0.5 with noise, the same on every machine."""
    from danlu.storage.locate import Stores

    chance = random.Random(0)
    lines = ["x1,x2,y"]
    for _ in range(500):
        x1, x2 = chance.uniform(-1, 1), chance.uniform(-1, 1)
        lines.append(f"{x1:.6f},{x2:.6f},{3 * x1 - 2 * x2 + 0.5 + chance.gauss(0, 0.05):.6f}")
    place = Stores.of(session.settings).at(f"{uri}points.csv")
    place.storage.write(place.key, "\n".join(lines).encode())


def _loss(session: Session, job: str) -> float:
    """Return the last loss in the log of a job; every program of the demo prints one."""
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
    head = tuple(get_message(f"demo.{name}") for name in _COLUMNS)
    session.screen.note("")
    session.screen.data("\n".join(table([head, *rows])))
