"""The wire to the driver, with small drivers of our own: no Ray needed."""

import os
import signal
import sys

import pytest

from contracts.executor import eventually
from danlu.errors import ExecutorError, Refused, Unavailable
from danlu.executors.api import choose_executor, open_executor
from danlu.executors.local import LocalExecutor
from danlu.executors.ray.access import Access, find_access, head_file, token_file
from danlu.executors.ray.link import Link
from danlu.settings import Secret, Settings

# Answers every call with its arguments; 'die' ends it, 'fail' is refused, 'token' returns its own.
DRIVER = """
import json, os, socket, sys
wire = socket.socket(fileno=int(sys.argv[1]))
for line in wire.makefile("rb"):
    asked = json.loads(line)
    if asked["call"] == "die":
        os._exit(3)
    said = {"answer": asked["with"]}
    if asked["call"] == "fail":
        said = {"error": {"code": asked["with"]["code"], "message": "no", "hint": "why"}}
    if asked["call"] == "token":
        said = {"answer": [os.environ.get("RAY_AUTH_TOKEN"), os.environ.get("RAY_ADDRESS")]}
    if asked["call"] != "never":
        wire.sendall(json.dumps({"id": asked["id"], **said}).encode() + b"\\n")
"""


@pytest.fixture
def link(clock):
    link = Link(
        lambda: Access("10.0.0.1:6379", Secret("t0ken")),
        "danlu-x",
        (sys.executable, "-c", DRIVER),
        clock,
    )
    yield link
    link.close()


def test_calls_are_answered(link):
    assert link.call("states", job_id="j", tasks={"worker-0": 1}) == {
        "job_id": "j",
        "tasks": {"worker-0": 1},
    }


def test_driver_is_started_when_it_is_needed(link):
    assert link.pid == 0
    link.call("held")
    assert link.pid > 0


def test_driver_gets_token_by_environment_only(link, monkeypatch):
    monkeypatch.setenv("RAY_ADDRESS", "another:1")

    assert link.call("token") == ["t0ken", None]
    with open(f"/proc/{link.pid}/cmdline", "rb") as file:
        assert b"t0ken" not in file.read()


@pytest.mark.parametrize(
    ("code", "kind"), [("executor_error", ExecutorError), ("unavailable", Unavailable)]
)
def test_what_a_driver_refuses_is_raised_here(link, code, kind):
    with pytest.raises(kind, match="no") as caught:
        link.call("fail", code=code)

    assert caught.value.hint == "why"


def test_next_call_after_driver_exit_starts_another(link):
    link.call("held")
    first = link.pid

    with pytest.raises(Unavailable, match="The Ray driver ended"):
        link.call("die")

    assert link.call("held") == {}
    assert link.pid not in (0, first)


def test_a_driver_that_was_killed_is_replaced(link):
    link.call("held")
    first = link.pid
    os.kill(first, signal.SIGKILL)
    eventually(lambda: link.pid != first)

    assert link.call("held") == {}


def test_call_that_is_not_answered_is_given_up(link):
    with pytest.raises(Unavailable, match=r"did not answer to 'never' in 0.05 s"):
        link.call("never", 0.05)


def test_unreachable_cluster_is_not_asked_each_time(clock):
    asked = []

    def find():
        asked.append(clock.now)
        raise Unavailable("there is no cluster")

    link = Link(find, "danlu-x", clock=clock)
    for clock.now in (0, 0.5, 1.5, 2, 3, 4, 100):
        with pytest.raises(Unavailable, match="there is no cluster"):
            link.call("held")

    assert asked == [0, 1.5, 4, 100]


def test_cluster_is_configured_one_or_own(tmp_path):
    settings = Settings(home=tmp_path, executor="ray")
    with pytest.raises(Unavailable, match="ray_address is empty"):
        find_access(settings)

    head_file(settings).parent.mkdir()
    head_file(settings).write_text('{"address": "127.0.0.2:6379"}')
    token_file(settings).write_text("own\n")

    assert find_access(settings) == Access("127.0.0.2:6379", Secret("own"))
    there = Settings(home=tmp_path, ray_address="10.0.0.1:1", ray_token=Secret("theirs"))
    assert find_access(there) == Access("10.0.0.1:1", Secret("theirs"))
    assert choose_executor(Settings(home=tmp_path)).executor == "ray"


def test_tasks_run_locally_unless_cluster_is_requested(tmp_path):
    settings = choose_executor(Settings(home=tmp_path, warm="off"))

    executor = open_executor(settings, lambda: None)

    assert isinstance(executor, LocalExecutor)
    executor.close()


def test_cluster_without_ray_installed_is_refused_in_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr("danlu.executors.ray.access.find_spec", lambda name: None)

    with pytest.raises(Refused, match="Ray is not installed"):
        open_executor(Settings(home=tmp_path, executor="ray"), lambda: None)
