"""One process of several is killed: the others stop, and the job goes on from its checkpoint."""

import json
import os
import shutil
import signal
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from contracts.executor import eventually
from danlu.client import connect
from danlu.taskdir.processes import started, task_pids
from homes import a_home_in, packed
from repetitions import COUNT, tried

PROGRAMS = Path(__file__).parent / "programs" / "cluster"
INTERVAL = 10
MANY = int(os.environ.get(COUNT) or 20)
SURVIVORS = 30.0  # seconds they have
TWO_NODES = {"nodes": 2, "train_url": "obs://bucket/out"}
STYLES = {
    "mox": {"dialect": "dls", "boot_file": "train.py", **TWO_NODES},
    "plain": {"dialect": "modelarts", "boot_file": "train.py", **TWO_NODES},
    "kdl": {"dialect": "kdl", "module": "trainer.task", "worker_count": 1, "ps_count": 1},
    "modelmaker": {"dialect": "modelmaker", "model_file": "train.py", "nodes": 2},
}
VICTIMS = {
    "mox": ("worker-1", "worker-0", "ps-1"),
    "plain": ("ps-1", "worker-0", "worker-1"),
    "kdl": ("master-0", "worker-0", "ps-0"),
    "modelmaker": ("worker-0", "chief-0", "ps-0"),
}
EACH = [(style, victim) for style, victims in VICTIMS.items() for victim in victims]


class Training:
    """A job on several tasks, and what its trainers wrote down."""

    def __init__(self, settings, style, steps, retries, folder):
        self.client = connect(settings)
        self.ledger = folder / "ledger"
        self.ledger.touch()
        request = {**STYLES[style], **settings_of(style, steps), "retries": retries}
        # Outputs of its own.
        request = json.loads(json.dumps(request).replace("bucket/out", f"bucket/{folder.name}"))
        request["code"] = packed(program(style, folder / "code"), self.client, settings)
        request["env"] = {"LEDGER": str(self.ledger)}
        self.id = self.client.submit(request)["id"]
        self.folder = settings.jobs / self.id

    def notes(self):
        """Return the lines of the ledger."""
        return self.ledger.read_text().split("\n")[:-1]

    def steps(self, attempt=0, role="", notes=None):
        """Return those of an attempt, or all; also of the notes there were at a moment."""
        found = (line.split() for line in notes or self.notes())
        return [
            int(step)
            for at, by, step in found
            if int(at) == (attempt or int(at)) and by.startswith(role)
        ]

    def at_step(self, attempt, more):
        """Return once so many steps of an attempt are done, one at least by the chief."""

        def has_trained():
            return len(self.steps(attempt)) >= more and self.steps(attempt, "chief")

        self.until(has_trained, "it does not train")

    def processes(self, *of):
        """Return those of the job, of an attempt or of one of its tasks, oldest first."""
        value = "/".join(map(str, (self.id, *of)))
        found = task_pids(value if len(of) == 2 else f"{value}/")
        return sorted(found, key=lambda pid: started(pid) or 0)

    def keepers(self):
        """Return the parents of warm scripts, which have no variables, by their words."""
        words = (_words(pid) for pid in map(int, filter(str.isdigit, os.listdir("/proc"))))
        return [found for found in words if "--keep" in found and self.id in found]

    def agent(self, attempt, task):
        return json.loads((self.folder / str(attempt) / task / "agent.json").read_text())["pid"]

    def evaluator(self):
        """Return the process beside the chief's own, if it is there now."""
        attempt = self.client.job(self.id)["attempt"]
        return [pid for pid in self.processes(attempt, "chief-0")[1:] if "evaluator" in _words(pid)]

    def until(self, condition, what, seconds=240.0):
        deadline = time.monotonic() + seconds
        while not condition():
            view = self.client.job(self.id)
            assert view["state"] not in ("failed", "succeeded"), view["cause"]["en"]
            assert time.monotonic() < deadline, f"{what}: {view['state']}"
            time.sleep(0.2)

    def lost(self, attempt, notes=None):
        """Return the steps that were done for nothing, and those done while the chief did none.

        Workers that do not wait for each other go on while the chief writes a checkpoint.
        """
        last, first = max(self.steps(attempt, notes=notes)), min(self.steps(attempt + 1))
        meanwhile = last - max(self.steps(attempt, "chief", notes))
        # A checkpoint may hold a step that was not recorded before the kill.
        return max(0, last - (first - 1)), meanwhile


class Kills:
    """What it costs to kill processes of a training, one in each attempt."""

    def __init__(self, training):
        self.training = training
        self.lost, self.after, self.ended, self.resumed = [], [], [], []

    def kill(self, attempt, pid):
        """Kill a process; return when the survivors have stopped and the next attempt trains."""
        training = self.training
        os.kill(pid, signal.SIGKILL)
        began, notes = time.monotonic(), training.notes()
        training.until(lambda: not training.processes(attempt), "survivors do not stop")
        self.ended.append(time.monotonic() - began)
        training.at_step(attempt + 1, 1)
        self.resumed.append(time.monotonic() - began)
        self.lost.append(training.lost(attempt, notes))
        then, now = (max(training.steps(attempt, notes=each)) for each in (notes, None))
        self.after.append(now - then)

    def cost(self, measured, fault, retried):
        """See that the job ends well, leaves nothing, and lost no more than it may."""
        training, count = self.training, len(self.ended)
        view = training.client.wait(training.id, timeout=600)
        assert (view["state"], view["attempt"]) == ("succeeded", count + 1), view
        assert view["retried"] == retried
        assert training.processes() == []
        eventually(lambda: not training.keepers())
        measured(
            fault,
            kills=count,
            interval=INTERVAL,
            most_steps_lost=max(steps for steps, _ in self.lost),
            most_by_survivors=max(self.after),
            slowest_end=round(max(self.ended), 1),
            slowest_resume=round(max(self.resumed), 1),
        )
        assert max(self.ended) <= SURVIVORS
        for steps_lost, meanwhile in self.lost:
            assert steps_lost <= INTERVAL + meanwhile


@pytest.fixture
def train(settings, tmp_path):
    """Return a function that starts a job, each process of which loads TensorFlow itself."""
    with trainings(settings, tmp_path) as begin:
        yield begin


@pytest.fixture(scope="module")
def warm_home(tmp_path_factory):
    """A home where a process of each style waits with TensorFlow loaded, after the first job."""
    settings_of = {
        "DANLU_WARM": str(len(STYLES)),
        "DANLU_RETRY_DELAY": "0",
    }  # which doubles each time
    with a_home_in(tmp_path_factory.mktemp("warm"), **settings_of) as settings:
        yield settings


@pytest.fixture
def train_warm(warm_home, tmp_path):
    """Return a function that starts a job whose processes are forks of one that waits."""

    def begin_warm(style, steps, retries):
        if not (folder := warm_home.home.with_name(f"first-{style}")).exists():
            folder.mkdir()
            first = begin(style, 1, 0, folder)
            assert first.client.wait(first.id, timeout=600)["state"] == "succeeded"
            requests = list(warm_home.home.glob("warm/*.json"))
            eventually(
                lambda: all(request.with_suffix(".sock").exists() for request in requests),
                within=300,
            )
        return begin(style, steps, retries)

    with trainings(warm_home, tmp_path) as begin:
        yield begin_warm


@contextmanager
def trainings(settings, folder):
    begun = []

    def begin(style, steps, retries, folder=folder):
        begun.append(Training(settings, style, steps, retries, folder))
        return begun[-1]

    yield begin
    for training in begun:
        training.client.close()


def _words(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def program(style, code):
    if (PROGRAMS / style).is_dir():
        shutil.copytree(PROGRAMS / style, code)
        shutil.copy(PROGRAMS / "pace.py", code / "trainer")
    else:
        code.mkdir()
        shutil.copy(PROGRAMS / f"{style}.py", code / "train.py")
        shutil.copy(PROGRAMS / "pace.py", code)
    return code


def settings_of(style, steps):
    if style == "kdl":
        words = f"--checkpoint_path=ks3://bucket/out --steps={steps} --interval={INTERVAL}"
        return {"job_args": words}
    if style == "modelmaker":
        return {"parameters": {"train_max_steps": steps, "save_checkpoints_steps": INTERVAL}}
    return {"parameters": {"steps": steps, "interval": INTERVAL}}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("style", STYLES)
def test_killed_task_stops_others_and_job_continues(train, chance, measured, style):
    kill_again_and_again(train, chance, measured, style, VICTIMS[style][0], 1)


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.parametrize(("style", "victim"), EACH)
def test_job_goes_on_after_each_of_many_kills(train_warm, chance, measured, style, victim):
    """Four processes that load TensorFlow at each attempt would be most of what it takes."""
    kill_again_and_again(train_warm, chance, measured, style, victim, MANY)


def kill_again_and_again(train, chance, measured, style, victim, count):
    training = train(style, 40 + 3 * INTERVAL * count, count)
    kills = Kills(training)
    for attempt in range(1, count + 1):
        training.at_step(attempt, chance.randint(1, 2 * INTERVAL))
        # Now and then it is the agent, and the kernel ends its script.
        with_agent = attempt % 4 == 0
        script, agent = training.processes(attempt, victim)[0], training.agent(attempt, victim)
        kills.kill(attempt, agent if with_agent else script)
    agents = {"agent_lost": count // 4} if count >= 4 else {}
    kills.cost(measured, f"F10 {style} {victim}", {"killed": count - count // 4, **agents})


@tried(quick=1, long=20, timeout=7200)
def test_killed_evaluator_costs_no_more_than_checkpoint(train, chance, measured, count):
    """The chief starts it anew a few times; beyond that, the job does."""
    training = train("modelmaker", 40 + 2 * INTERVAL * count, count)
    for _ in range(count):
        before = len(training.steps())
        training.until(lambda: len(training.steps()) > before, "it does not train")  # noqa: B023
        time.sleep(chance.uniform(0, 0.5))
        training.until(lambda: training.evaluator(), "there is no evaluator")
        os.kill(training.evaluator()[0], signal.SIGKILL)

    view = training.client.wait(training.id, timeout=600)
    assert view["state"] == "succeeded", view["cause"]["en"]
    assert view["attempt"] <= 1 + count // 4
    assert training.processes() == []
    lost = [training.lost(attempt) for attempt in range(1, view["attempt"])]
    measured(
        "F10 modelmaker evaluator",
        kills=count,
        interval=INTERVAL,
        most_steps_lost=max((max(0, steps - meanwhile) for steps, meanwhile in lost), default=0),
        most_by_survivors=max((meanwhile for _, meanwhile in lost), default=0),
        attempts=view["attempt"],
    )
    for steps_lost, meanwhile in lost:
        assert steps_lost <= INTERVAL + meanwhile
