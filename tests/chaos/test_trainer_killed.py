"""A trainer is killed at any step: what is lost is less than a checkpoint's worth of steps."""

import itertools
import json
import os
import shutil
import signal
import struct
import time
from pathlib import Path

import pytest

from repetitions import tried

PROGRAMS = Path(__file__).with_name("programs")
STEPS, INTERVAL = 60, 10
LATEST = STEPS - 20  # on a busy machine the kill comes late
TIMEOUT = 1200  # seconds: there a cold start takes minutes, and all tries before it would be lost
OUT = {"train_url": "obs://bucket/out"}
STYLES = {
    "kdl": {"module": "trainer.task", "job_args": "--checkpoint_path=ks3://bucket/out"},
    "modelarts": {"boot_file": "train.py", **OUT},
    "dls": {"boot_file": "train.py", **OUT},
    "ti": {"entry_point": "train.py", "output_path": "cos://bucket/out"},
    "modelmaker": {
        "model_file": "train.py",
        "parameters": {"train_max_steps": STEPS, "save_checkpoints_steps": INTERVAL},
    },
}
SAVING = ("ti", "modelarts", "dls", "modelmaker")


@pytest.fixture
def warm(request, settings, monkeypatch):
    """Many times TensorFlow is loaded once: as in normal use, a process waits after the first."""
    if "count" in request.fixturenames and request.getfixturevalue("count") > 1:
        monkeypatch.setenv("DANLU_WARM", "auto")


@pytest.fixture
def code(warm, upload, tmp_path, style):
    """The program of a style, where the server has it."""
    folder = tmp_path / "code"
    if (PROGRAMS / style).is_dir():
        shutil.copytree(PROGRAMS / style, folder)
    else:
        folder.mkdir()
        shutil.copy(PROGRAMS / f"{style}.py", folder / "train.py")
    shutil.copy(PROGRAMS / "ledger.py", folder / "trainer" if style == "kdl" else folder)
    return upload(folder)


class Ledger:
    """What a program wrote down of one job, all attempts of it."""

    def __init__(self, path):
        self.path = path

    def steps(self, attempt):
        """Return pairs of step and process."""
        words = (line.split() for line in self._lines())
        return [(int(w[2]), int(w[3])) for w in words if w[:2] == ["step", str(attempt)]]

    def lost(self):
        """Return how many steps of the first attempt the second had to do again.

        A checkpoint may hold a step that was not recorded before the kill.
        """
        return max(0, self.steps(1)[-1][0] - (self.steps(2)[0][0] - 1))

    def ends(self):
        return [float(line.split()[1]) for line in self._lines() if line.startswith("end ")]

    def _lines(self):
        # The last line may be incomplete because of the kill.
        text = self.path.read_text() if self.path.exists() else ""
        return text[: text.rfind("\n") + 1].splitlines()


def exact_result():
    """Return what the steps give where none is lost: momentum 0.5, a slope of one."""
    weight = speed = 0.0
    for _ in range(STEPS):
        speed = _single(0.5 * speed + 1)
        weight = _single(weight + speed)
    return weight


def _single(value):
    return struct.unpack("f", struct.pack("f", value))[0]


def trains_until(step, ledger):
    """Return the process that trains, once it has trained so far."""
    deadline = time.monotonic() + TIMEOUT
    while not (trained := [pid for at, pid in ledger.steps(1) if at >= step]):
        assert time.monotonic() < deadline, "it does not train"
        time.sleep(0.01)
    return trained[0]


def request_of(style, code, ledger):
    """Return a job with outputs of its own."""
    reported = json.dumps({"dialect": style, "code": code, **STYLES[style]})
    return {
        **json.loads(reported.replace("bucket/out", f"bucket/{ledger.path.name}")),
        "env": {"LEDGER": str(ledger.path)},
    }


def test_kill_between_checkpoint_and_step_record_loses_nothing(tmp_path):
    ledger = Ledger(tmp_path / "ledger")
    ledger.path.write_text("step 1 28 7\nstep 1 29 7\nstep 2 31 8\n")
    assert ledger.lost() == 0
    ledger.path.write_text("step 1 31 7\nstep 1 32 7\nstep 2 31 8\n")
    assert ledger.lost() == 2


@pytest.mark.parametrize("style", STYLES)
@tried(quick=1, long=20, timeout=5400)
def test_killed_trainer_goes_on_from_its_last_checkpoint(run, chance, measured, style, count):
    lost = []
    for number in range(count):
        # Now and then it is the agent, and the kernel ends its script.
        victim = "agent" if number % 4 == 3 else "trainer"
        lost.append(run(chance.randint(1, LATEST), victim, signal.SIGKILL))
    measured(f"F1 {style}", kills=count, interval=INTERVAL, most_steps_lost=max(lost))
    assert all(0 <= steps <= INTERVAL for steps in lost)


# A session of the script's own, as KDL's, saves what the script saves.
SAVES = ["ti", *(pytest.param(style, marks=pytest.mark.long) for style in SAVING[1:])]


@pytest.mark.parametrize("style", SAVES)
@tried(quick=1, long=20, timeout=5400)
def test_trainer_stopped_by_sigterm_loses_no_step(run, chance, measured, style, count):
    """The machine is taken back: SIGTERM, and a time of grace."""
    lost = [run(chance.randint(1, LATEST), "agent", signal.SIGTERM) for _ in range(count)]
    measured(f"F3 {style}", ends=count, saved=lost.count(0), most_steps_lost=max(lost))
    assert set(lost) == {0}


@pytest.mark.parametrize("style", ["modelarts"])
def test_trainer_killed_twice_at_one_step_fails(client, code, tmp_path, style):
    """As by a machine whose memory that step does not fit into: no number of tries will help."""
    ledger = Ledger(tmp_path / "ledger")
    request = request_of(style, code, ledger)
    request["env"]["KILLED_AT"] = "23"

    view = client.wait(client.submit(request)["id"], timeout=TIMEOUT)

    assert (view["state"], view["reason"], view["attempt"]) == ("failed", "killed_again", 2), view
    assert "at step 23, for the second time" in view["cause"]["en"]
    assert [ledger.steps(attempt)[-1][0] for attempt in (1, 2)] == [23, 23]
    assert ledger.steps(2)[0][0] == 21


@pytest.fixture
def run(settings, warm, client, code, tmp_path, style):
    """Train, end it at a step, and return how many steps were lost when it had gone on."""
    numbers = itertools.count()

    def train(step, victim, number):
        ledger = Ledger(tmp_path / f"ledger-{next(numbers)}")
        job = client.submit(request_of(style, code, ledger))["id"]
        trainer = trains_until(step, ledger)
        os.kill(agent_of(settings, job) if victim == "agent" else trainer, number)
        view = client.wait(job, timeout=TIMEOUT)
        assert (view["state"], view["attempt"]) == ("succeeded", 2), view
        assert ledger.ends()[-1] == exact_result()
        return ledger.lost()

    return train


def agent_of(settings, job):
    (file,) = settings.jobs.glob(f"{job}/1/*/agent.json")
    return json.loads(file.read_text())["pid"]
