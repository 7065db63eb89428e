"""A job in the words of the service: its status, what it went through and when."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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
# Phases of a task, by their first word, and what the service says when one begins.
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
    """``began`` is a Unix time."""

    status: str
    message: str
    began: float
    attempt: int = 1


def status_of(view: View) -> str:
    return STATUS[view["state"]]


def model_uri(view: View) -> str:
    """Return where the model of a job is, or will be."""
    return f"{view['spec']['outputs']['output_path']}/{MODEL}"


def transitions(view: View) -> Sequence[Transition]:
    """Return what a job went through: of earlier attempts only that they began."""
    found = [
        Transition("Starting", "Launching ML instance", change["at"], change["attempt"])
        for change in view["history"]
        if change["state"] == "queued"
    ]
    said = set()
    for phase in _phases(view):
        kind = phase["name"].partition(" ")[0]
        if kind in _PHASES and _PHASES[kind] not in said:
            said.add(_PHASES[kind])
            found.append(Transition(*_PHASES[kind], phase["began"], view["attempt"]))
    if view["state"] in _ENDS:
        end = view["ended"] or view["history"][-1]["at"]
        found.append(Transition(*_ENDS[view["state"]], end, view["attempt"]))
    return found


def _phases(view: View) -> Sequence[View]:
    """Return the phases of the first instance: the others do the same."""
    workers = (task for task in view.get("tasks") or () if task["role"] == "worker")
    first: View = min(workers, key=lambda task: int(task["index"]), default={})
    return (first.get("progress") or {}).get("phases") or ()


def description(view: View) -> dict[str, Any]:
    """Return a job as the service's DescribeTrainingJob does."""
    from ti.exceptions import cause_of

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


def moment(at: float) -> str:
    """Return a time of this zone as the service writes it."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
