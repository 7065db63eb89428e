from pathlib import Path

import pytest

from danlu import messages
from danlu.agent.script.environment import child_environment, thread_pools
from danlu.job.plan import Command, Place, Task
from danlu.settings import Settings, load

TWO = {"ps": ("127.0.0.1:1", "127.0.0.1:2"), "worker": ("127.0.0.1:3", "127.0.0.1:4")}
MANY = {"worker": tuple(f"127.0.0.1:{port}" for port in range(9))}
ELSEWHERE = {"worker": ("10.0.0.1:1", "10.0.0.2:1"), "ps": ("10.0.0.1:2", "10.0.0.2:2")}


@pytest.mark.parametrize(
    ("place", "cores", "inside", "between"),
    [
        (Place("worker", 0, peers=TWO), 8, 4, 4),
        (Place("ps", 1, cpus=0, peers=TWO), 8, 4, 4),
        (Place("worker", 0, peers=TWO), 2, 1, 2),
        (Place("worker", 0, peers=MANY), 4, 1, 2),
        (Place("worker", 0, cpus=3, peers=TWO), 8, 3, 3),
        (Place("worker", 0, cpus=2.5), 8, 3, 3),
    ],
)
def test_threads_of_task_match_its_cores(place, cores, inside, between):
    assert thread_pools(place, cores) == {
        "OMP_NUM_THREADS": str(inside),
        "TF_NUM_INTRAOP_THREADS": str(inside),
        "TF_NUM_INTEROP_THREADS": str(between),
    }


@pytest.mark.parametrize(
    "place",
    [
        Place("worker", 0),
        Place("worker", 0, cpus=16),
        Place("worker", 0, host="10.0.0.1", peers=ELSEWHERE),
    ],
)
def test_task_with_all_cores_gets_no_thread_limit(place):
    assert thread_pools(place, 8) == {}


def test_peers_are_reached_past_proxy_of_machine():
    """MoXing manual, pitfall 2-3-1: CreateSession still waiting."""
    place = Place("worker", 0, host="10.0.0.1", peers=ELSEWHERE)
    task = Task("j", "job", "ti", 1, place, Command("train.py"))
    own = {"http_proxy": "http://proxy:3128", "no_proxy": "intranet, 10.0.0.2"}

    env = child_environment(task, "/box", {}, own, Settings(home=Path("/home")))

    assert env["no_grpc_proxy"] == "intranet,10.0.0.2,10.0.0.1"
    assert env["http_proxy"] == "http://proxy:3128"


def test_onednn_variable_of_machine_is_the_default():
    name = "TF_ENABLE_ONEDNN_OPTS"
    for given, expected in (({}, "0"), ({name: "1"}, "1")):
        task = Task("j", "job", "dls", 1, Place("worker", 0), Command("train.py", env=given))
        env = child_environment(task, "/box", {}, {name: "0"}, Settings(home=Path("/home")))

        assert env[name] == expected


def test_script_variables_are_no_settings_of_danlu():
    """MoXing in a script reads the settings, from the environment of the script."""
    plan = Task("j", "job", "dls", 1, Place("worker", 0), Command("train.py"))
    env = child_environment(plan, "/box", {}, {}, Settings(home=Path("/home")))

    assert load(env={**env, "DANLU_XLA": "1"}).home


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_script_has_the_language_of_its_agent(lang):
    place = Place("worker", 0, host="127.0.0.1")
    task = Task("j", "job", "ti", 1, place, Command("train.py"))
    messages.use(lang)
    try:
        env = child_environment(task, "/box", {}, {}, Settings(home=Path("/home")))
    finally:
        messages.use("en")

    assert env["DANLU_LANG"] == lang
