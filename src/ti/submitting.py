"""From an estimator to a job of the platform's."""

import datetime
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from danlu.errors import Conflict, InvalidJob
from ti import channels
from ti.arguments import UNUSED, hyperparameter_faults, plain
from ti.code import send
from ti.exceptions import InvalidArguments, renamed
from ti.images import base_name
from ti.terminal import Terminal
from ti.training_job import TrainingJob

if TYPE_CHECKING:
    from ti.estimator import EstimatorBase

# Fields of a job, by the names they have here.
_NAMES = {
    "code": "source_dir",
    "channels": "inputs",
    "env": "envs",
    "flavor": "train_instance_type",
    "name": "job_name",
    "nodes": "train_instance_count",
    "parameters": "hyperparameters",
    "timeout": "train_max_run",
}
_TRIES = 5  # names that are made up, and taken
_LONGEST = 40  # letters of the part of a name that is not the time


def start(estimator: "EstimatorBase", inputs: Any, job_name: str | None) -> TrainingJob:
    """Hand a job over, say its name and what is other than asked, and return it.

    Raises:
        InvalidArguments: every fault of it; nothing was started.
        Conflict: the name is taken.
    """
    session, terminal = estimator.ti_session, Terminal()
    request = _request(estimator, inputs)
    view = _submitted(estimator, request, job_name)
    terminal.line(f"Training job: {view['name']}")
    for note in (*view["notes"], *(f"{name}: {UNUSED[name]}" for name in estimator.unused)):
        field, colon, sentence = note.partition(": ")
        terminal.line(f"  {_NAMES.get(field, field)}{colon}{sentence}")
    return TrainingJob(session, view)


def _submitted(
    estimator: "EstimatorBase", request: Mapping[str, Any], job_name: str | None
) -> Mapping[str, Any]:
    for tried in range(_TRIES):
        name = job_name or made_up_name(estimator, datetime.datetime.now())
        try:
            return estimator.ti_session.client.submit({**request, "name": name})
        except InvalidJob as error:
            raise renamed(error.faults, _NAMES) from None
        except Conflict:
            # Another fit of the same millisecond; the next name is another.
            if job_name or tried == _TRIES - 1:
                raise
    raise AssertionError("unreachable")


def made_up_name(estimator: "EstimatorBase", now: datetime.datetime) -> str:
    """Return the name of the image, or what the user calls such jobs, and the time."""
    image = base_name(estimator.image_name) if estimator.image_name else ""
    base = estimator.base_job_name or image or estimator.framework_name
    words = re.sub(r"[^A-Za-z0-9_-]+", "-", base)[:_LONGEST].strip("-") or "job"
    return f"{words}-{now:%Y-%m-%d-%H-%M-%S}-{now.microsecond // 1000:03d}"


def _request(estimator: "EstimatorBase", inputs: Any) -> dict[str, Any]:
    session = estimator.ti_session
    if not estimator.entry_point:
        sentence = (
            "must be the name of a Python file: there are no containers here, so an image's own "
            "program cannot be run."
        )
        raise InvalidArguments([("entry_point", sentence)])
    if faults := hyperparameter_faults(estimator.hyperparameters):
        raise InvalidArguments(faults)
    given = channels.named(inputs)
    output = channels.output_uri(session, estimator.output_path)
    local = [path for text in given.values() if (path := channels.local_path(text))]
    code = send(session, estimator.entry_point, estimator.source_dir, local)
    runtime = estimator.runtime()
    request = {
        "dialect": "ti",
        "code": code.uri,
        "code_origin": code.origin,
        "entry_point": code.entry_point,
        "channels": channels.reached(session, given),
        "hyperparameters": plain(estimator.hyperparameters),
        "env": estimator.envs,
        "output_path": output,
        "distributions": estimator.distributions,
        "framework": runtime.framework,
        "framework_version": runtime.tensorflow,
        "py_version": runtime.python,
        "container_log_level": estimator.container_log_level,
        "train_instance_type": estimator.train_instance_type,
        "train_instance_count": estimator.train_instance_count,
        "train_max_run": estimator.train_max_run,
    }
    return {field: value for field, value in request.items() if value not in (None, "", {})}
