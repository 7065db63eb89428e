"""The clock of the machine jumps by hours and days: no job is lost, late or tried again for it."""

import os

import pytest

from danlu.testing.bench import eventually
from trials import tried

# Every Python process begins with this: what it takes for the time is moved by what a file says.
JUMPING = """
import os, time
_true = time.time
def _moved():
    with open({file!r}) as file:
        return _true() + float(file.read() or 0)
time.time = _moved
"""
SCRIPT = """
import os, signal, sys, time
given = dict(word[2:].split("=", 1) for word in sys.argv[1:])
print("up", os.environ["DANLU_ATTEMPT"], flush=True)
while not os.path.exists(given["end"]):
    time.sleep(0.01)
if given["dies"] == "True" and os.environ["DANLU_ATTEMPT"] == "1":
    os.kill(os.getpid(), signal.SIGKILL)
"""
HOUR = 3600
JUMPS = (-24 * HOUR, -2 * HOUR, 2 * HOUR, 24 * HOUR)


class Clock:
    def __init__(self, file):
        self.file, self.moved = file, 0
        self.jump(0)

    def jump(self, seconds):
        self.moved += seconds
        fresh = self.file.with_suffix(".new")
        fresh.write_text(str(self.moved))
        os.replace(fresh, self.file)


@pytest.fixture
def clock(tmp_path, monkeypatch, settings):
    """The clock of every process that is started from now on."""
    folder = tmp_path / "startup"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(JUMPING.format(file=str(folder / "moved")))
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.setenv("DANLU_RETRY_DELAY", "1")  # long enough to jump while a retry waits
    return Clock(folder / "moved")


@tried(quick=2, long=30)
def test_jobs_do_not_mind_a_clock_that_jumps(
    clock, client, upload, tmp_path, chance, measured, count
):
    code = upload(SCRIPT)
    request = {"dialect": "modelarts", "code": code, "boot_file": "train.py"}
    ends, attempts = [], []
    for number in range(count):
        jobs = {}
        end = tmp_path / f"end-{number}"
        for dies in (False, True):
            parameters = {"end": str(end), "dies": str(dies)}
            jobs[dies] = client.submit({**request, "parameters": parameters})["id"]
        for job in jobs.values():
            eventually(lambda job=job: client.lines(job).lines)

        clock.jump(chance.choice(JUMPS))
        assert {client.job(job)["state"] for job in jobs.values()} == {"running"}
        end.touch()
        eventually(lambda jobs=jobs: client.job(jobs[True])["attempt"] == 2)
        clock.jump(chance.choice(JUMPS))  # while its retry waits

        views = [client.wait(job, timeout=60) for job in jobs.values()]
        ends += [view["state"] for view in views]
        attempts += [view["attempt"] for view in views]
    measured("F17", jumps=2 * count, jobs=len(ends), succeeded=ends.count("succeeded"))
    assert set(ends) == {"succeeded"}
    assert attempts == [1, 2] * count
