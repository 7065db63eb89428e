"""The clock of the machine jumps by hours and days: no job is lost, late or tried again for it.

Files keep the time of the kernel, which does not jump here: beside it they are hours old, or of
the future, and what a job writes before and after is stored all the same.
"""

import os

import pytest

from contracts.executor import eventually
from repetitions import tried

# Every Python process begins with this: a file has the offset of its clock.
JUMPING = """
import os, time
def _moved(true, unit):
    def now():
        with open({file!r}) as file:
            return true() + int(file.read() or 0) * unit
    return now
time.time, time.time_ns = _moved(time.time, 1), _moved(time.time_ns, 1_000_000_000)
"""
SCRIPT = """
import os, signal, sys, time
given = dict(word[2:].split("=", 1) for word in sys.argv[1:])
def write(name, text):
    with open(os.path.join(given["train_url"], name), "w") as file:
        file.write(text)
write("before", "before")
write("both", "1")  # what is written last has the same size
print("up", os.environ["DANLU_ATTEMPT"], flush=True)
while not os.path.exists(given["end"]):
    time.sleep(0.01)
if given["dies"] == "True" and os.environ["DANLU_ATTEMPT"] == "1":
    os.kill(os.getpid(), signal.SIGKILL)
write("both", "2")
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
    clock, settings, client, upload, tmp_path, chance, measured, count
):
    code = upload(SCRIPT)
    request = {"dialect": "modelarts", "code": code, "boot_file": "train.py"}
    ends, attempts = [], []
    for number in range(count):
        jobs = {}
        end = tmp_path / f"end-{number}"
        for dies in (False, True):
            parameters = {"end": str(end), "dies": str(dies)}
            out = {"train_url": f"obs://bucket/{number}-{dies}/"}
            asked = {**request, "parameters": parameters, "outputs": out}
            jobs[dies] = client.submit(asked)["id"]
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
        for dies in jobs:
            folder = settings.store / "buckets" / "bucket" / f"{number}-{dies}"
            found = [path for path in folder.iterdir() if path.name != ".danlu"]
            stored = {path.name: path.read_text() for path in found}
            assert stored == {"before": "before", "both": "2"}
    measured("F17", jumps=2 * count, jobs=len(ends), succeeded=ends.count("succeeded"))
    assert set(ends) == {"succeeded"}
    assert attempts == [1, 2] * count
