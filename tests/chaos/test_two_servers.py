"""Two servers share one database and one store: each job is started by exactly one of them."""

import json
import os
import shutil
import signal
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from danlu.client.background import bring_up, status
from danlu.errors import OnOtherServer, Refused
from danlu.taskdir.processes import task_pids
from postgres import PASSWORD
from repetitions import tried
from several_servers import request
from several_servers import servers as servers


class Killer:
    """Kills one of the servers a random moment after some of the steps of a test.

    By steps and not by the clock: on a slow machine no server would live long enough to serve.
    """

    def __init__(self, homes, chance, often):
        self.homes, self.chance, self.often = homes, chance, often
        self.kills, self.timer = 0, threading.Timer(0, lambda: None)

    def step(self):
        if not self.timer.is_alive() and self.chance.random() < self.often:
            self.timer = threading.Timer(self.chance.uniform(0.0, 1.0), self.kill)
            self.timer.start()

    def kill(self):
        try:
            pid = json.loads((self.chance.choice(self.homes) / "server.json").read_text())["pid"]
            if "danlu.server" in Path(f"/proc/{pid}/cmdline").read_text():
                os.kill(pid, signal.SIGKILL)
                self.kills += 1
        except (OSError, ValueError, KeyError):
            return  # between two servers

    def close(self):
        if self.timer.is_alive():
            self.timer.join()


@tried(quick=40, long=1000, timeout=7200)
def test_killed_servers_start_each_job_once(servers, tmp_path, chance, measured, count):
    both = servers()
    clients = [both.client("one"), both.client("two")]
    code = both.upload(clients[0])
    ledger = tmp_path / "ledger"
    killer = Killer([tmp_path / "one", tmp_path / "two"], chance, often=1 / 8)
    jobs = []
    for n in range(count):
        jobs.append(clients[n % 2].submit(request(code, ledger, n)))
        killer.step()
    for n, job in enumerate(jobs):
        # Asked of the other server than the one it was given to.
        both.client(("one", "two")[n % 2]).hello()  # starts it again where it was killed
        jobs[n] = both.client(("two", "one")[n % 2]).wait(job["id"], timeout=600)
        killer.step()
    killer.close()

    started = Counter(ledger.read_text().split())
    ran_by = Counter(job["runs_on"] for job in jobs)
    measured(
        "F16",
        jobs=count,
        kills=killer.kills,
        not_run=sum(not started[str(n)] for n in range(count)),
        run_twice=sum(times > 1 for times in started.values()),
        least_by_one_server=min(ran_by.values()),
    )
    assert {job["state"] for job in jobs} == {"succeeded"}
    assert {job["attempt"] for job in jobs} == {1}
    assert started == Counter(str(n) for n in range(count))
    assert set(ran_by) == {both.name_of("one"), both.name_of("two")}


def wait_until(look, seconds=90):
    """Return what a look finds, once it finds something."""
    pause, until = threading.Event(), time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < until, "nothing came"
        pause.wait(0.1)
    return found


def test_server_suspended_beyond_lease_writes_nothing(servers, tmp_path):
    """What it ran is run by the other; continued, it ends its own copy and writes nothing."""
    both = servers(DANLU_LEASE="2", DANLU_SERVER_TIMEOUT="6", DANLU_HEARTBEAT="0.2")
    one, two = both.client("one"), both.client("two")
    code, ledger, over = both.upload(one), tmp_path / "ledger", tmp_path / "over"
    ran = {"seconds": 600, "until": str(over)}
    job = one.submit(request(code, ledger, "job", **ran))
    wait_until(lambda: ledger.exists() and one.job(job["id"])["state"] == "running")
    assert one.job(job["id"])["runs_on"] == both.name_of("one")

    stopped = both.pid("one")
    os.kill(stopped, signal.SIGSTOP)
    try:
        second = wait_until(lambda: _runs_on(two, job, both.name_of("two")))
        scripts = len(list(task_pids(f"{job['id']}/1/")))
        assert second["attempt"] == 2
        assert scripts == 0  # gone before the other began
    finally:
        os.kill(stopped, signal.SIGCONT)
    more = one.submit(request(code, ledger, "more"))
    assert one.wait(more["id"], timeout=120)["state"] == "succeeded"
    over.touch()
    ended = one.wait(job["id"], timeout=120)

    assert (ended["state"], ended["attempt"]) == ("succeeded", 2)
    assert ended["runs_on"] == both.name_of("two")
    assert Counter(ledger.read_text().split()) == {"job": 2, "more": 1}
    states = [(change["state"], change["attempt"]) for change in ended["history"]]
    assert states.count(("running", 1)) == states.count(("running", 2)) == 1


def _runs_on(client, job, server):
    found = client.job(job["id"])
    return found if found["runs_on"] == server and found["state"] == "running" else None


@pytest.mark.timeout(300)
def test_jobs_go_on_while_the_database_is_away(servers, tmp_path, postgres):
    both = servers(DANLU_LEASE="120")  # not lost on a machine where all this takes a minute
    client = both.client("one")
    code, ledger, over = both.upload(client), tmp_path / "ledger", tmp_path / "over"
    jobs = [client.submit(request(code, ledger, n, until=str(over), seconds=600)) for n in (0, 1)]
    queued = client.submit(request(code, ledger, 2))
    wait_until(lambda: ledger.exists() and len(ledger.read_text().split()) == 2)

    known = "".join(_environments(tmp_path, job["id"]) for job in jobs)
    assert "DANLU_HOME" in known
    assert PASSWORD not in known

    postgres.stop()
    try:
        answer = _ask(both.home("one"), f"/v1/jobs/{jobs[0]['id']}")
        with ThreadPoolExecutor(1) as pool:
            late = pool.submit(client.submit, request(code, ledger, 3))  # which tries for a minute
            over.touch()
            postgres.start()
            accepted = late.result(timeout=60)
    finally:
        postgres.start()
    ended = [client.wait(job["id"], timeout=90) for job in (*jobs, queued, accepted)]

    assert answer.status_code == 503
    assert "does not answer" in answer.json()["error"]["message"]
    assert {(job["state"], job["attempt"]) for job in ended} == {("succeeded", 1)}
    assert Counter(ledger.read_text().split()) == {"0": 1, "1": 1, "2": 1, "3": 1}
    assert len(client.jobs()["jobs"]) == 4
    log = (tmp_path / "one" / "server.log").read_text()
    assert PASSWORD not in answer.text + log


def _environments(homes, job_id):
    """Return the environments of the agent and the script of a job."""
    (path,) = homes.glob(f"*/jobs/{job_id}/1/worker-0/agent.json")
    agent = json.loads(path.read_text())
    pids = [agent["pid"], *task_pids(f"{job_id}/1/")]
    return "".join(Path(f"/proc/{pid}/environ").read_text() for pid in pids)


def _ask(settings, path):
    transport = httpx.HTTPTransport(uds=str(settings.socket))
    with httpx.Client(transport=transport, base_url="http://localhost", timeout=30) as client:
        return client.get(path)


def test_servers_with_different_stores_do_not_share_records(servers, tmp_path, monkeypatch):
    both = servers()
    both.client("one").hello()
    both.environment["DANLU_STORE"] = str(tmp_path / "another")

    with pytest.raises(Refused, match="is not that of the other servers of this database"):
        both.client("two").hello()
    both.settings.pop("two")


def test_job_of_one_server_is_shown_by_another(servers, tmp_path):
    """Logs and curves lie with the server that runs a job; any server queries it."""
    both = servers(DANLU_CPUS="1")
    up = {"one": bring_up(both.home("one"), "127.0.0.1", 0)}
    (tmp_path / "two").mkdir(mode=0o700)
    shutil.copy2(tmp_path / "one" / "token", tmp_path / "two" / "token")
    up["two"] = bring_up(both.home("two"), "127.0.0.1", 0)
    one, two = both.client("one"), both.client("two")
    reported = status(both.home("one"))._asdict()
    assert reported["server"] == one.hello()["server"] == both.name_of("one")
    assert reported["records"].startswith("postgresql://postgres:***@127.0.0.1")
    assert PASSWORD not in str(reported) + str(one.hello())
    code, ledger, over = both.upload(one), tmp_path / "ledger", tmp_path / "over"
    first = one.submit(request(code, ledger, "first", until=str(over), seconds=600))
    second = one.submit(request(code, ledger, "second"))  # for which server one has no capacity

    lines = [line.text for line in one.follow(second["id"])]
    elsewhere = one.job(second["id"])["runs_on"]
    over.touch()
    lines_of_first = [line.text for line in two.follow(first["id"])]

    assert elsewhere == both.name_of("two")
    assert [line for line in lines if " of " in line] == ["line of second", "end of second"]
    assert [line for line in lines_of_first if " of " in line] == ["line of first", "end of first"]
    two.remove(first["id"])
    assert not (tmp_path / "one" / "jobs" / first["id"]).exists()
    (tmp_path / "one" / "token").write_text("another\n")
    with pytest.raises(OnOtherServer, match="does not accept this server's token"):
        list(one.follow(second["id"]))
