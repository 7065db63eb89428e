import dataclasses
import importlib
import json
import types
import typing
from collections.abc import Mapping
from enum import Enum

import pytest

from danlu.job.job import Change, Job
from danlu.job.plan import Command, Fetch, Isolation, Limits, Place, Push, Task
from danlu.job.spec import JobSpec, Resources
from danlu.job.state import JobState, Reason
from danlu.job.status import Failure, Frame, Outcome, Phase, Progress, TaskStatus, Transfer
from danlu.job.wire import from_wire, to_wire

MODULES = [
    importlib.import_module(f"danlu.job.{name}") for name in ("job", "plan", "spec", "status")
]
KINDS = {
    kind
    for module in MODULES
    for kind in vars(module).values()
    if isinstance(kind, type) and dataclasses.is_dataclass(kind)
}


def sample(hint):
    """Return a value of a type that differs from every default."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is types.UnionType:
        return sample(inner[0])
    if origin is tuple:
        kinds = inner[:1] * 2 if inner[-1] is Ellipsis else inner
        return tuple(sample(kind) for kind in kinds)
    if origin is Mapping or (isinstance(origin, type) and issubclass(origin, Mapping)):
        return {"键 k": sample(inner[1])}
    if dataclasses.is_dataclass(hint):
        hints = typing.get_type_hints(hint)
        return hint(**{f.name: sample(hints[f.name]) for f in dataclasses.fields(hint)})
    if issubclass(hint, Enum) if isinstance(hint, type) else False:
        return list(hint)[-1]
    return {bool: True, int: 7, float: 2.5, str: '炼丹 "x"\n\udce4', typing.Any: [{"a": [1]}]}[hint]


def over_the_wire(value):
    return from_wire(type(value), json.loads(json.dumps(to_wire(value))))


@pytest.mark.parametrize("kind", sorted(KINDS, key=lambda kind: kind.__name__))
def test_every_value_survives_the_wire(kind):
    value = sample(kind)

    again = over_the_wire(value)

    assert again == value
    assert repr(again) == repr(value)  # tuples stay tuples, enums stay enums


def test_complete_job_round_trips_through_wire():
    place = Place(
        "worker",
        1,
        port=2222,
        gpus=("0", "GPU-1"),
        isolation=Isolation("user", True),
        peers={"ps": ("10.0.0.1:2222",), "worker": ("10.0.0.2:2223", "h:1")},
    )
    command = Command(
        run="/home/work/user-job-dir/code/train.py",
        args=("--data_url=", "--name=a b", "--中文=值"),
        env={"A": "", "B": "x=y"},
        fetch=(Fetch("danlu://code/0.tar.gz", "/code", "code", archive=True),),
        push=(Push("/out", "obs://bucket/a//b/", "train_url"),),
        files={"/etc/x": "line\n"},
    )
    task = Task("0gpw00000000", "mnist", "modelarts", 2, place, command, Limits(run=9.5), ("KEY",))
    frames = (Frame("train.py", 3), Frame("nets/a.py", 7, "f", "raise"))
    failure = Failure("ValueError", "bad", frames, 1, "SIGKILL", last_lines=("one", ""))
    outcome = Outcome(2, Reason.SCRIPT_FAILED, 1, 12.5, failure, 3, 1 << 40)
    progress = Progress((Phase("run", 1.5),), Transfer("data_url", 1, 2, 0.5, True))
    job = Job(
        "0gpw00000000",
        "mnist",
        JobSpec(
            "mnist", "modelarts", "obs://b/code/", "train.py", (("a", ""), ("a", "2")),
            {"data_url": "obs://b/d"}, {"train_url": "obs://b/o"}, resources=Resources(2, gpus=1),
        ),
        1.25,
        state=JobState.FAILED,
        reason=Reason.SCRIPT_FAILED,
        plan=(task,),
        tasks=(TaskStatus("worker", 1, True, True, 0.5, False, progress, outcome),),
        retried={"agent_lost": 2},
        history=(Change(JobState.STARTING, 1.5, 1), Change(JobState.FAILED, 2.5, 2, Reason.KILLED)),
    )  # fmt: skip

    assert over_the_wire(job) == job


def test_what_a_newer_writer_added_is_passed_over():
    assert from_wire(Frame, {"file": "a.py", "line": 1, "colour": 4}) == Frame("a.py", 1)


def test_unknown_fields_of_older_writer_take_defaults():
    assert from_wire(Limits, {}) == Limits()
    assert from_wire(Frame, {"file": "a.py", "line": 1}) == Frame("a.py", 1)


def test_what_must_be_there_is_missed():
    with pytest.raises(TypeError, match="line"):
        from_wire(Frame, {"file": "a.py"})


def test_unknown_state_is_not_guessed():
    with pytest.raises(ValueError, match="dreaming"):
        from_wire(Change, {"state": "dreaming", "at": 1.0, "attempt": 1})


def test_wire_values_are_plain():
    written = to_wire(Change(JobState.QUEUED, 1.0, 1, Reason.KILLED))

    assert written == {"state": "queued", "at": 1.0, "attempt": 1, "reason": "killed"}
    assert type(written["state"]) is str


def test_readers_share_nothing_with_the_document():
    """A frozen value must not change with the dictionary it was read from."""
    document = {"run": "a.py", "env": {"A": "1"}}
    command = from_wire(Command, document)

    document["env"]["A"] = "2"

    assert command.env == {"A": "1"}
