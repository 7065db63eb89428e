"""Description of a job in the terms of the service: status, transitions and times."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from danlu.job.describe import cause_of, phases_of, shortened_text
from danlu.messages.text import moment

View = Mapping[str, Any]

STATUS = {
    "queued": "InProgress",
    "starting": "InProgress",
    "running": "InProgress",
    "stopping": "Stopping",
    "succeeded": "Completed",
    "failed": "Failed",
    "stopped": "Stopped",
}
MODEL = "model.tar.gz"
# First word of a phase of a task, to the status and message of the service.
_PHASES = {
    "fetch": ("Downloading", "Downloading training data"),
    "prepare": ("Downloading", "Training data ready"),
    "restore": ("Downloading", "Bringing back checkpoints"),
    "install": ("Downloading", "Installing packages"),
    "run": ("Training", "Starting train job"),
    "push": ("Uploading", "Uploading job output"),
}
_ENDS = {
    "succeeded": ("Completed", "Training Job completed"),
    "failed": ("Failed", "Training Job failed"),
    "stopped": ("Stopped", "Training Job stopped"),
}


@dataclass(frozen=True)
class Transition:
    """A change of the secondary status. ``began`` is a Unix time."""

    status: str
    message: str
    began: float
    attempt: int = 1


def status_of(view: View) -> str:
    return STATUS[view["state"]]


def model_uri(view: View) -> str:
    """Return the URI of a job's model, also before the model exists."""
    return f"{view['spec']['outputs']['output_path']}/{MODEL}"


def transitions(view: View) -> Sequence[Transition]:
    """Return the status transitions of a job.

    Earlier attempts have only their start.
    """
    found = [
        Transition("Starting", "Launching ML instance", change["at"], change["attempt"])
        for change in view["history"]
        if change["state"] == "queued"
    ]
    seen = set()
    for phase in _phases(view):
        kind = phase["name"].partition(" ")[0]
        if kind in _PHASES and _PHASES[kind] not in seen:
            seen.add(_PHASES[kind])
            found.append(Transition(*_PHASES[kind], phase["began"], view["attempt"]))
    if view["state"] in _ENDS:
        end = view["ended"] or view["history"][-1]["at"]
        status, message = _ENDS[view["state"]]
        found.append(Transition(status, message + _shortened(view), end, view["attempt"]))
    return found


def _shortened(view: View) -> str:
    """Return the suffix of the end message if the training was cut short on request."""
    text = shortened_text(view)
    return f" ({text})" if text else ""


def _phases(view: View) -> Sequence[View]:
    """Return the phases of the first worker, because all workers have the same phases."""
    workers = (task for task in view.get("tasks") or () if task["role"] == "worker")
    first: View = min(workers, key=lambda task: int(task["index"]), default={})
    return phases_of(first)


def description(view: View) -> dict[str, Any]:
    """Return a job in the format of the service's DescribeTrainingJob."""
    gone_through = transitions(view)
    ends = [*(change.began for change in gone_through[1:]), view["ended"]]
    spec = view["spec"]
    return {
        "TrainingJobName": view["name"],
        "TrainingJobStatus": status_of(view),
        "SecondaryStatus": gone_through[-1].status,
        "SecondaryStatusTransitions": [
            {
                "Status": change.status,
                "StatusMessage": change.message,
                "StartTime": moment(change.began),
                "EndTime": moment(end) if end else None,
            }
            for change, end in zip(gone_through, ends, strict=True)
        ],
        "FailureReason": cause_of(view) if view["state"] == "failed" else "",
        "ModelArtifacts": {"CosModelArtifacts": model_uri(view)},
        "HyperParameters": dict(spec["params"]),
        "InputDataConfig": [
            {"ChannelName": name, "DataSource": {"CosDataSource": {"CosUri": uri}}}
            for name, uri in spec["inputs"].items()
        ],
        "ResourceConfig": {
            "InstanceCount": spec["resources"]["nodes"],
            "InstanceType": spec["resources"]["flavor"],
        },
        "CreationTime": moment(view["created"]),
        "TrainingStartTime": moment(view["started"]) if view["started"] else None,
        "TrainingEndTime": moment(view["ended"]) if view["ended"] else None,
    }
