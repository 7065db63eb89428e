"""A job in the words of the service, and in ours, from views that need no server."""

import pytest

from ti.describing import description, transitions
from ti.following import progress, times


def phase(name, began):
    return {"name": name, "began": began}


def task(*phases, index=0, ended=None, role="worker"):
    outcome = {"ended": ended, "reason": "done", "failure": None} if ended else None
    return {
        "role": role,
        "index": index,
        "progress": {"phases": list(phases), "transfer": None},
        "outcome": outcome,
    }


PHASES = (
    phase("fetch code", 11.0),
    phase("fetch train", 12.0),
    phase("prepare", 14.0),
    phase("run", 15.0),
    phase("push", 75.0),
)


def view(state="running", *tasks, **more):
    return {
        "id": "1",
        "name": "mnist",
        "state": state,
        "attempt": 1,
        "created": 10.0,
        "started": 15.0,
        "ended": None,
        "history": [{"state": "queued", "at": 10.0, "attempt": 1, "reason": None}],
        "tasks": tasks,
        "steps": None,
        "cause": None,
        "reason": None,
        "spec": {
            "outputs": {"output_path": "cos://b/mnist/output"},
            "params": [["lr", "0.1"]],
            "inputs": {"train": "cos://b/train"},
            "resources": {"nodes": 1, "flavor": "local"},
        },
        **more,
    }


def test_job_has_the_statuses_of_the_service():
    ended = view("succeeded", task(*PHASES, ended=76.0), ended=76.0)

    assert [(change.status, change.message) for change in transitions(ended)] == [
        ("Starting", "Launching ML instance"),
        ("Downloading", "Downloading training data"),
        ("Downloading", "Training data ready"),
        ("Training", "Starting train job"),
        ("Uploading", "Uploading job output"),
        ("Completed", "Training Job completed"),
    ]


def test_a_second_attempt_is_reported_with_its_number():
    again = [
        {"state": "queued", "at": at, "attempt": number, "reason": None}
        for number, at in ((1, 10.0), (2, 50.0))
    ]
    found = transitions(view("running", task(*PHASES[:4]), history=again, attempt=2))

    assert [(change.status, change.attempt) for change in found][:3] == [
        ("Starting", 1),
        ("Starting", 2),
        ("Downloading", 2),
    ]


@pytest.mark.parametrize(
    ("state", "status"),
    [
        ("queued", "InProgress"),
        ("starting", "InProgress"),
        ("running", "InProgress"),
        ("stopping", "Stopping"),
        ("succeeded", "Completed"),
        ("failed", "Failed"),
        ("stopped", "Stopped"),
    ],
)
def test_states_have_the_names_of_the_service(state, status):
    assert description(view(state))["TrainingJobStatus"] == status


def test_a_description_has_what_the_service_reports():
    found = description(view("running", task(*PHASES[:4])))

    assert found["TrainingJobName"] == "mnist"
    assert found["SecondaryStatus"] == "Training"
    assert found["ModelArtifacts"] == {"CosModelArtifacts": "cos://b/mnist/output/model.tar.gz"}
    assert found["HyperParameters"] == {"lr": "0.1"}
    assert found["InputDataConfig"][0]["ChannelName"] == "train"
    assert found["ResourceConfig"] == {"InstanceCount": 1, "InstanceType": "local"}
    assert found["SecondaryStatusTransitions"][-1]["EndTime"] is None


def test_shortened_job_is_marked():
    ended = view("succeeded", task(*PHASES, ended=76.0), ended=76.0)
    ended["shortened"] = {"steps": 3, "rehearsal": True}

    last = description(ended)["SecondaryStatusTransitions"][-1]["StatusMessage"]

    assert last.startswith("Training Job completed (a rehearsal of 3 steps; ")


def test_every_phase_has_its_time():
    ended = view("succeeded", task(*PHASES, ended=76.0), ended=76.0)

    assert times(ended) == [
        "queued 1.0 s · fetch code 1.0 s · fetch train 2.0 s · prepare 1.0 s · run 1 min 00 s"
        " · upload 1.0 s"
    ]


def test_of_several_tasks_each_has_its_line():
    two = [task(*PHASES, index=index, ended=76.0) for index in range(2)]

    assert [line.partition(" ")[0] for line in times(view("succeeded", *two, ended=76.0))] == [
        "[worker-0]",
        "[worker-1]",
    ]


@pytest.mark.parametrize(
    ("job", "line"),
    [
        (view("queued"), "mnist: queued 10.0 s"),
        (view("starting", task(*PHASES[:2])), "mnist: fetch train  8.0 s"),
        (view("running", task(*PHASES[:4])), "mnist: run  5.0 s"),
        (
            view("running", task(*PHASES[:4]), steps={"step": 1200, "total": 5000, "rate": 35.2}),
            "mnist: step 1,200/5,000 · 35.2/s · 1 min 47 s left",
        ),
        (view("succeeded"), ""),
    ],
)
def test_one_line_reports_where_a_job_is(job, line):
    assert progress(job, 20.0) == line
