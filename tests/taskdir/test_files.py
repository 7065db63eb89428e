"""The files of a task: order of writes, one claim, one outcome, and what is left after a crash."""

import json

import pytest

from danlu.errors import PlatformError
from danlu.job.plan import Command, Place, Task
from danlu.job.state import Reason
from danlu.job.status import (
    Agent,
    Failure,
    Frame,
    Heartbeat,
    Note,
    Outcome,
    Phase,
    Progress,
    Transfer,
    Translation,
)
from danlu.taskdir.files import PROTOCOL, TaskDir, newest_attempt, raise_fence, tasks_of
from danlu.taskdir.job_files import LocalJobFiles
from danlu.taskdir.processes import alive, this_agent

PLACE = Place("worker", 0, gpus=("0", "1"), peers={"worker": ("127.0.0.1:1", "127.0.0.1:2")})
TASK = Task("abc", "mnist", "modelarts", 1, PLACE, Command("/code/训练.py", args=("--a=", "b c")))
AGENT = Agent(pid=1, started=2, host="here", boot="b")
FAILURE = Failure("ValueError", "bad 值", frames=(Frame("train.py", 3),), exit_code=1)


@pytest.fixture
def files(store):
    return TaskDir(store, 1, "worker-0")


def test_a_plan_comes_back_as_it_was_written(files):
    assert files.plan() is None
    assert not files.is_planned()

    files.write_plan(TASK, {})

    assert files.plan() == TASK
    assert files.is_planned()


def test_a_plan_of_another_protocol_is_refused(files, store):
    store.put("1/worker-0/plan.json", json.dumps({"protocol": PROTOCOL + 1}).encode())

    with pytest.raises(PlatformError, match=f"protocol {PROTOCOL + 1}, this agent {PROTOCOL}"):
        files.plan()
    assert files.is_planned()


def test_field_of_newer_writer_is_passed_over(files, store):
    store.put("1/worker-0/heartbeat.json", b'{"seq": 4, "at": 1.5, "mood": "good"}')

    assert files.heartbeat() == Heartbeat(4, 1.5)


def test_secrets_are_taken_once_never_in_plan(tmp_path):
    files = TaskDir(LocalJobFiles(tmp_path), 1, "worker-0")
    files.write_plan(TASK, {"SK": "canary"})
    assert b"canary" not in (tmp_path / "1/worker-0/plan.json").read_bytes()

    assert files.take_secrets() == {"SK": "canary"}
    assert files.take_secrets() == {}
    assert not (tmp_path / "1/worker-0/secrets.json").exists()


def test_where_the_plan_is_the_secrets_are(tmp_path):
    """The agent may be looking: secrets after the plan would come too late for it."""
    order = []

    class Watched(LocalJobFiles):
        def put(self, name, data, *, private=False):
            order.append((name, private))
            super().put(name, data, private=private)

    TaskDir(Watched(tmp_path), 1, "worker-0").write_plan(TASK, {"SK": "x"})

    assert order == [("1/worker-0/secrets.json", True), ("1/worker-0/plan.json", False)]


def test_only_the_claimer_may_update_its_record(files):
    assert files.agent() is None
    assert files.claim(AGENT)
    assert not files.claim(Agent(pid=9, started=9, host="there"))
    assert files.agent() == AGENT

    grouped = Agent(**{**vars(AGENT), "cgroup": "/sys/fs/cgroup/x"})
    files.update_agent(grouped)

    assert files.agent() == grouped


def test_one_outcome_and_it_never_changes(files):
    outcome = Outcome(1, Reason.SCRIPT_FAILED, 1, 12.5, FAILURE, pushed_files=2)

    assert files.outcome() is None
    assert files.write_outcome(outcome)
    assert not files.write_outcome(Outcome(1, Reason.DONE, 0, 13.5))

    assert files.outcome() == outcome


def test_what_an_agent_reports_is_read(files):
    progress = Progress((Phase("fetch code", 1.0),), Transfer("code", 1, 2, 0.5))
    assert (files.heartbeat(), files.progress(), files.stop_requested()) == (None, None, None)

    files.write_heartbeat(Heartbeat(1, 2.0))
    files.write_progress(progress)
    files.request_stop(0)

    assert files.heartbeat() == Heartbeat(1, 2.0)
    assert files.progress() == progress
    assert (files.stop_requested(), files.stop_why()) == (0.0, "")

    files.request_stop(5, "the workers are done")

    assert (files.stop_requested(), files.stop_why()) == (5.0, "the workers are done")


def test_text_that_is_not_unicode_survives(files):
    """A file name in GBK on a Linux disk reaches Python as lone surrogates."""
    failure = Failure(
        "FileNotFoundError", b"\xca\xfd\xbe\xdd.csv".decode("utf-8", "surrogateescape")
    )

    assert files.write_outcome(Outcome(1, Reason.SCRIPT_FAILED, 1, 1.0, failure))

    assert files.outcome().failure == failure


@pytest.mark.parametrize("rest", [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"attempt": []}'])
def test_remains_of_power_cut_count_as_unwritten(files, store, rest):
    for name in ("plan", "heartbeat", "progress", "outcome", "stop", "secrets"):
        store.put(f"1/worker-0/{name}.json", rest if rest != b'{"attempt": []}' else b"")
    store.put("fence.json", rest)

    assert files.plan() is None
    assert (files.heartbeat(), files.progress(), files.outcome()) == (None, None, None)
    assert files.stop_requested() is None
    assert files.take_secrets() == {}
    assert newest_attempt(store) == 0


@pytest.mark.parametrize("rest", [b"", b"{", b"{}", b'{"pid": 1}'])
def test_unreadable_claim_has_no_living_agent(files, store, rest):
    store.put("1/worker-0/agent.json", rest)

    assert not files.claim(AGENT)
    assert files.agent() is not None
    assert not alive(files.agent())


def test_the_fence_only_rises(store):
    assert newest_attempt(store) == 0

    raise_fence(store, 2)
    raise_fence(store, 1)

    assert newest_attempt(store) == 2


def test_tasks_of_attempt_are_those_with_plan(store):
    for attempt, name in ((1, "worker-0"), (1, "ps-0"), (10, "worker-0")):
        TaskDir(store, attempt, name).write_plan(TASK, {})
    TaskDir(store, 1, "worker-1").write_heartbeat(Heartbeat(1, 1.0))

    assert list(tasks_of(store, 1)) == ["ps-0", "worker-0"]
    assert list(tasks_of(store, 2)) == []


def test_logs_of_two_attempts_are_two_logs(store):
    for attempt in (1, 2):
        writer = TaskDir(store, attempt, "worker-0").log_writer(1000)
        writer.write(f"attempt {attempt}".encode())
        writer.flush()

    assert TaskDir(store, 1, "worker-0").log_reader().read(0).data == b"attempt 1"
    assert TaskDir(store, 2, "worker-0").log_reader().read(0).data == b"attempt 2"


class ClaimedMeanwhile(LocalJobFiles):
    """Another agent claims the task right after each read."""

    def get(self, name):
        seen = super().get(name)
        if name.endswith("agent.json"):
            TaskDir(LocalJobFiles(self.folder), 1, "worker-0").claim(this_agent())
        return seen


def test_concurrent_claim_is_not_taken_as_lost(tmp_path):
    files = TaskDir(ClaimedMeanwhile(tmp_path), 1, "worker-0")

    assert files.agent() is None
    assert files.agent() == this_agent()


def test_a_translation_is_replaced_by_a_longer_one(files, store):
    assert files.translation() == Translation()
    first = Translation((Note("repaired", "打印", "train.py", 3),))
    second = Translation((*first.notes, Note("relaxed", "numpy==1.16.4")), left_out=2)

    files.write_translation(first)
    assert files.translation() == first
    files.write_translation(second)

    assert files.translation() == second
    store.put("1/worker-0/translation.json", b"{")
    assert files.translation() == Translation()
