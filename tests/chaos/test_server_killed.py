"""The server is killed at any moment: nothing acknowledged is lost, nothing runs twice."""

import json
import os
import signal
import threading
from collections import Counter
from pathlib import Path

import pytest

from danlu.errors import Unavailable
from repetitions import tried

SCRIPT = """
import sys, time
given = dict(word[2:].split("=", 1) for word in sys.argv[1:])
with open(given["ledger"], "a") as ledger:
    ledger.write(given["number"] + "\\n")
for n in range(5):
    print("line", n, "of", given["number"], flush=True)
    time.sleep(0.05)
"""
JOBS_PER_KILL = 20


class Killer(threading.Thread):
    """Kills the server of a home at random moments until closed.

    On a slow machine it waits longer if no request was answered between two kills.
    """

    def __init__(self, home, chance):
        super().__init__(daemon=True)
        self.file, self.chance = Path(home, "server.json"), chance
        self.kills, self.answers, self.longest = 0, 0, 2.0
        self.done = threading.Event()

    def run(self):
        killed = answers = 0
        while not self.done.wait(0.01):
            try:
                pid = json.loads(self.file.read_text())["pid"]
                if pid == killed:
                    continue  # no client has needed a server since
                self.longest = 2.0 if self.answers > answers else min(1.5 * self.longest, 60)
                self.done.wait(self.chance.uniform(0.0, self.longest))
                if "danlu.server" not in Path(f"/proc/{pid}/cmdline").read_text():
                    continue  # another process may have its pid by now
                os.kill(pid, signal.SIGKILL)
            except (OSError, ValueError, KeyError):
                continue  # between two servers
            killed, answers = pid, self.answers
            self.kills += 1

    def keep_up(self, kills, call):
        """Return once so many were killed; calls bring a server back, to be killed too."""
        while self.kills < kills:
            self.answered(call)
            self.done.wait(0.05)

    def answered(self, call):
        """Call until there is an answer, longer than a client would."""
        while True:
            try:
                answer = call()
            except Unavailable as error:
                print(f"again: {error}")
                continue
            self.answers += 1
            return answer


@pytest.fixture
def killer(settings, chance):
    killer = Killer(settings.home, chance)
    yield killer
    killer.done.set()
    killer.join()


@tried(quick=20, long=1000, timeout=7200)
def test_jobs_survive_repeatedly_killed_server(client, upload, tmp_path, killer, measured, count):
    code = upload(SCRIPT)
    ledger = tmp_path / "ledger"
    killer.start()

    jobs = []
    while len(jobs) < count:
        request = {
            "dialect": "modelarts",
            "code": code,
            "boot_file": "train.py",
            "parameters": {"ledger": str(ledger), "number": str(len(jobs))},
        }
        token = f"number-{len(jobs)}"
        jobs.append(killer.answered(lambda r=request, t=token: client.submit(r, token=t))["id"])
        killer.keep_up(len(jobs) // JOBS_PER_KILL, client.hello)
    killer.keep_up(3, client.hello)
    views = [killer.answered(lambda job=job: client.wait(job, timeout=600 + count)) for job in jobs]
    lines = [
        killer.answered(lambda job=job: [line.text for line in client.follow(job)]) for job in jobs
    ]
    killer.done.set()
    killer.join()

    runs = Counter(ledger.read_text().split())
    missing = sum(
        f"line {n} of {number}" not in logged
        for number, logged in enumerate(lines)
        for n in range(5)
    )
    twice = sum(len(logged) - len(set(logged)) for logged in lines)
    known = listed(client)
    measured(
        "F12",
        jobs=len(jobs),
        kills=killer.kills,
        lost=len(set(jobs) - known),
        uninvited=len(known - set(jobs)),
        not_run=sum(runs[str(number)] == 0 for number in range(len(jobs))),
        run_twice=sum(times > 1 for times in runs.values()),
        lines_lost=missing,
        lines_twice=twice,
    )
    assert {(view["state"], view["attempt"]) for view in views} == {("succeeded", 1)}
    assert runs == Counter(str(number) for number in range(len(jobs)))
    assert (missing, twice) == (0, 0)
    assert known == set(jobs)


def listed(client):
    found, before = set(), ""
    while before is not None:
        page = client.jobs(limit=500, before=before)
        found |= {job["id"] for job in page["jobs"]}
        before = page["next"]
    return found
