"""Jobs of several tasks whose scripts need no TensorFlow: ports, peers, ends, cards and threads."""

import json
import os
import socket

BINDS = """
import os, socket, sys, time
from pathlib import Path

told = dict(word[2:].split("=", 1) for word in sys.argv[1:])
own = told[told["job_name"] + "_hosts"].split(",")[int(told["task_index"])]
port = int(own.rpartition(":")[2])
first = os.environ["DANLU_ATTEMPT"] == "1"
Path(told["train_url"], told["job_name"] + told["task_index"]).touch()
while first and not Path(told["folder"], "go").exists():
    time.sleep(0.05)
with socket.create_server(("127.0.0.1", port)):
    print("listens at", port, flush=True)
    time.sleep(0 if told["job_name"] == "worker" and not first else 600)
"""


def begin(person, script, *more):
    """Start a job on two nodes; return what is planned once all four tasks are there."""
    given = ("--train-url", person.folder / "out", "-p", f"folder={person.folder}", *more)
    words = ("run", person.script(script), "--dialect", "dls", "--nodes", "2", "--name", "two")
    person.types(*words, *given, "--detach")
    person.waits_for(lambda: person.asks("show", "two")["state"] not in ("queued", "starting"))
    return {task["place"]["role"] + str(task["place"]["index"]): task
            for task in person.asks("show", "two")["plan"]}  # fmt: skip


def test_port_taken_before_start_costs_one_attempt(person):
    port = begin(person, BINDS)["ps1"]["place"]["port"]

    with socket.create_server(("127.0.0.1", port)):
        (person.folder / "go").touch()
        person.types("wait", "two")

    view = person.asks("show", "two")
    assert (view["state"], view["attempt"]) == ("succeeded", 2)
    assert view["retried"] == {"port_taken": 1}
    assert view["plan"][1]["place"]["port"] != port


SHOWS = """
import json, os, socket, sys, time

told = dict(word[2:].split("=", 1) for word in sys.argv[1:])
names = ("CUDA_VISIBLE_DEVICES", "DANLU_CARDS", "OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS")
shown = {name: os.environ.get(name) for name in names}
print(json.dumps({"task": told["job_name"] + told["task_index"], **shown}), flush=True)
hosts = [each.rsplit(":", 1) for each in told["ps_hosts"].split(",")]
if told["job_name"] == "ps":
    server = socket.create_server(("", int(hosts[int(told["task_index"])][1])))
    time.sleep(600)
for host, port in hosts:  # the job ends with its workers: not before the servers have printed
    while True:
        try:
            socket.create_connection((host, int(port)), 5).close()
            break
        except OSError:
            time.sleep(0.05)
"""


def test_each_task_has_its_own_gpus_and_threads(person):
    """Four cards, two for each node: the parameter servers have none."""
    person.env["DANLU_GPUS"] = "4,5,6,7"
    begin(person, SHOWS, "--gpus", "2", "-e", "OMP_NUM_THREADS=3")
    person.types("wait", "two")

    lines = person.types("logs", "two").stdout.splitlines()
    shown = [json.loads(line[line.index("{") :]) for line in lines if '{"task"' in line]
    assert {each.pop("task"): each["CUDA_VISIBLE_DEVICES"] for each in shown} == {
        "ps0": "", "ps1": "", "worker0": "4,5", "worker1": "6,7",
    }  # fmt: skip
    cores = len(os.sched_getaffinity(0))
    for each in shown:
        assert each["DANLU_CARDS"] == each["CUDA_VISIBLE_DEVICES"]
        assert each["OMP_NUM_THREADS"] == "3"  # the user's own
        assert cores == 1 or each["TF_NUM_INTRAOP_THREADS"] == str(cores // 2)


BEGINS = """
import os

print("began after the late one:", os.path.exists(os.environ["LATE"]), flush=True)
if '"type": "ps"' in os.environ["TF_CONFIG"]:
    __import__("time").sleep(600)
"""


def test_scripts_begin_after_all_tasks_are_ready(person):
    """The prepare command of one of three tasks takes its time."""
    package = person.folder / "package"
    package.mkdir()
    (package / "task.py").write_text(BEGINS)
    late = person.folder / "late"
    slow = """case $TF_CONFIG in *'"type": "ps"'*) sleep 2; touch "$LATE";; esac"""
    words = ("run", package, "--dialect", "kdl", "--module", "task", "--name", "three")
    counts = ("--worker-count", "1", "--ps-count", "1")
    person.types(*words, *counts, "--prepare", slow, "-e", f"LATE={late}")

    log = person.types("logs", "three").stdout
    assert log.count("began after the late one: True") >= 2
    assert "began after the late one: False" not in log
