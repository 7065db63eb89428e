"""Two servers share one database and one store: each job is started by exactly one of them."""

import json
import os
import signal
import threading
from collections import Counter
from pathlib import Path

import pytest

from danlu.client import bundle, connect
from danlu.settings import load
from danlu.taskdir.process import marked
from trials import tried

SCRIPT = """
import os, sys, time
given = dict(word[2:].split("=", 1) for word in sys.argv[1:])
with open(given["ledger"], "a") as ledger:
    ledger.write(given["number"] + "\\n")
print("line of", given["number"], flush=True)
until = time.monotonic() + float(given.get("seconds", 0.1))
while time.monotonic() < until and not os.path.exists(given.get("until", "/nowhere")):
    time.sleep(0.05)
print("end of", given["number"], flush=True)
"""


class Servers:
    """Homes that share a database and a store. Clients start the servers, and start them again."""

    def __init__(self, folder, database, **more):
        self.folder = folder
        self.environment = {
            "DANLU_RECORDS_URL": database,
            "DANLU_STORE": str(folder / "store"),
            "DANLU_CPUS": "2",
            "DANLU_RETRY_DELAY": "0.1",
            **more,
        }
        self.settings = {}

    def home(self, name):
        home = self.folder / name
        if name not in self.settings:
            os.environ.update(self.environment, DANLU_HOME=str(home))
            self.settings[name] = load()
        os.environ["DANLU_HOME"] = str(home)
        return self.settings[name]

    def client(self, name):
        return connect(self.home(name))

    def pid(self, name):
        return json.loads((self.folder / name / "server.json").read_text())["pid"]

    def name_of(self, home):
        return (self.folder / home / "server-name").read_text().strip()

    def upload(self, client):
        code = self.folder / "code"
        code.mkdir()
        (code / "train.py").write_text(SCRIPT)
        archive, _ = bundle.pack(bundle.select(code, next(iter(self.settings.values()))))
        uri = client.upload_code(archive)
        archive.unlink()
        return uri

    def end(self):
        for name in self.settings:
            self.client(name).shutdown()
            for job in self.settings[name].jobs.glob("*"):
                for pid in marked(f"{job.name}/"):
                    os.kill(pid, signal.SIGKILL)


@pytest.fixture
def servers(tmp_path, database, monkeypatch):
    for name in [n for n in os.environ if n.startswith(("DANLU_", "PYTHON"))]:
        monkeypatch.delenv(name)
    made = []

    def make(**more):
        found = Servers(tmp_path, database, **more)
        for name in (*found.environment, "DANLU_HOME"):
            monkeypatch.setenv(name, "")  # put back at the end
        made.append(found)
        return found

    yield make
    for found in made:
        found.end()


def request(code, ledger, number, **more):
    return {
        "dialect": "modelarts",
        "code": code,
        "boot_file": "train.py",
        "parameters": {"ledger": str(ledger), "number": str(number), **more},
    }


class Killer(threading.Thread):
    """Kills one of two servers at random moments until told to leave."""

    def __init__(self, homes, chance, most):
        super().__init__(daemon=True)
        self.homes, self.chance, self.most = homes, chance, most
        self.kills, self.done = 0, threading.Event()

    def run(self):
        while self.kills < self.most and not self.done.wait(self.chance.uniform(0.5, 3.0)):
            try:
                pid = json.loads((self.chance.choice(self.homes) / "server.json").read_text())[
                    "pid"
                ]
                if "danlu.server" in Path(f"/proc/{pid}/cmdline").read_text():
                    os.kill(pid, signal.SIGKILL)
                    self.kills += 1
            except (OSError, ValueError, KeyError):
                continue  # between two servers


@tried(quick=40, long=1000, timeout=7200)
def test_each_job_is_started_exactly_once_by_servers_that_are_killed(
    servers, tmp_path, chance, measured, count
):
    both = servers()
    clients = [both.client("one"), both.client("two")]
    code = both.upload(clients[0])
    ledger = tmp_path / "ledger"
    killer = Killer([tmp_path / "one", tmp_path / "two"], chance, count // 6)
    killer.start()
    try:
        jobs = [clients[n % 2].submit(request(code, ledger, n)) for n in range(count)]
        for n, job in enumerate(jobs):
            # Asked of the other server than the one it was given to.
            jobs[n] = both.client(("two", "one")[n % 2]).wait(job["id"], timeout=600)
            both.client(("one", "two")[n % 2]).hello()  # starts it again where it was killed
    finally:
        killer.done.set()
        killer.join()

    started = Counter(ledger.read_text().split())
    ran_by = Counter(job["runs_on"] for job in jobs)
    measured("two servers", jobs=count, kills=killer.kills, twice=_more(started), by=dict(ran_by))
    assert {job["state"] for job in jobs} == {"succeeded"}
    assert {job["attempt"] for job in jobs} == {1}
    assert started == Counter(str(n) for n in range(count))
    assert set(ran_by) == {both.name_of("one"), both.name_of("two")}


def _more(started):
    return sum(times > 1 for times in started.values())
