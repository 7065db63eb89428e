"""Servers that share a database and a store, each with a home of its own, for tests."""

import contextlib
import json
import os
import signal

import pytest

from danlu.client import bundle, connect
from danlu.errors import DanluError
from danlu.settings import load
from danlu.taskdir.processes import task_pids

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
        with bundle.packed(bundle.select(code, next(iter(self.settings.values())))) as archive:
            return client.upload_code(archive)

    def end(self):
        for name in self.settings:
            with contextlib.suppress(DanluError):  # one that cannot be started has nothing to end
                self.client(name).shutdown()
            for job in self.settings[name].jobs.glob("*"):
                for pid in task_pids(f"{job.name}/"):
                    os.kill(pid, signal.SIGKILL)


@pytest.fixture
def servers(tmp_path, database, monkeypatch):
    for name in [n for n in os.environ if n.startswith(("DANLU_", "PYTHON"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("DANLU_WARM", "off")
    monkeypatch.setenv("DANLU_SHARE_TMP", "true")  # tests and their scripts meet below /tmp
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
