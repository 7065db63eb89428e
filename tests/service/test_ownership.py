"""Several servers that share the records: which of them advances a job."""

import json
import socket
from dataclasses import dataclass, field

import pytest

from contracts.fake_executor import ClockworkExecutor
from danlu.dialects.planning import roles_of
from danlu.errors import InvalidJob, OnOtherServer, Unavailable
from danlu.job.state import JobState, Reason
from danlu.service.jobs.cleanup import JobCleanup
from danlu.service.jobs.secrets import SecretFiles
from danlu.service.jobs.supervisor import Supervisor
from danlu.service.servers.lease import ServerLease, server_name
from danlu.service.servers.ownership import OWNER_HEAD_START, SharedDatabase
from danlu.service.service import Service
from danlu.settings import Settings
from danlu.storage.locate import Stores

LEASE, TIMEOUT = 15.0, 100.0


@dataclass
class Server:
    """One of several servers. It acts only when the test calls it."""

    servers: "TwoServers"
    name: str
    cpus: float = 2
    executor_name: str = "local"

    def __post_init__(self):
        self.settings = Settings(
            home=self.servers.folder / self.name, store=self.servers.folder / "store"
        )
        self.settings.home.mkdir()
        (self.settings.home / "server-name").write_text(self.name)
        self.executor = ClockworkExecutor(self.settings.jobs, cpus=self.cpus)
        self.secrets = SecretFiles(self.settings.home / "secrets")
        self.lease = ServerLease(
            self.servers.records,
            self.settings.home,
            LEASE,
            executor=self.executor_name,
            clock=self.servers.clock,
        )
        sharing = SharedDatabase(
            self.lease, timeout=TIMEOUT, executor=self.executor_name, clock=self.servers.clock
        )
        self.sharing = sharing
        cleanup = JobCleanup(
            self.servers.records,
            self.executor,
            self.secrets,
            self.settings,
            clock=self.servers.clock,
        )
        parts = (self.servers.records, self.executor, self.settings, self.secrets)
        self.supervisor = Supervisor(*parts, cleanup, sharing=sharing, clock=self.servers.clock)
        self.service = Service(*parts, wake=lambda: None, sharing=sharing, clock=self.servers.clock)

    def tick(self):
        """Renew the lease, then move what is to be moved."""
        self.lease.renew()
        self.move()

    def move(self):
        fence = self.sharing.begin()
        if fence is not None and fence != getattr(self, "tidied", None):
            self.supervisor._recovery.after_crash()
            self.tidied = fence
        if fence is not None:
            self.supervisor.tick()


@dataclass
class TwoServers:
    folder: object
    new_records: object
    now: float = 1_000_000.0
    ahead: float = 0.0  # of our clocks is that of the records
    servers: list = field(default_factory=list)

    def __post_init__(self):
        self.records = self.new_records(clock=lambda: self.clock() + self.ahead)
        location = Stores(self.folder / "store").at("obs://bucket/code/train.py")
        location.storage.write(location.key, b"print(1)")

    def clock(self):
        self.now += 0.0001  # no two things happen at once
        return self.now

    def server(self, name, **more):
        self.servers.append(Server(self, name, **more))
        self.servers[-1].tick()
        return self.servers[-1]

    def wait(self, seconds, *servers):
        """Let time pass; only these servers live meanwhile."""
        until = self.now + seconds
        while self.now < until:
            self.now += OWNER_HEAD_START / 2
            for server in servers:
                server.tick()

    def job(self, job):
        return self.records.get(job.id)


@pytest.fixture
def servers(tmp_path, new_records):
    return TwoServers(tmp_path, new_records)


@pytest.fixture
def one(servers):
    return servers.server("one")


@pytest.fixture
def two(servers, one):
    found = servers.server("two")
    one.tick()
    return found


@pytest.mark.parametrize("jump", [-7200, 7200])
def test_clock_jump_of_database_causes_no_takeover(one, two, servers, request_of, jump):
    job = one.service.submit(request_of)
    one.tick()
    one.tick()
    servers.wait(2 * TIMEOUT, one, two)

    servers.ahead += jump
    servers.wait(2 * TIMEOUT, two, one)

    found = servers.job(job)
    assert (found.state, found.runs_on, found.attempt) == (JobState.RUNNING, "one", 1)


def test_the_name_of_a_server_stays(tmp_path):
    assert server_name(tmp_path) == server_name(tmp_path)


def test_job_runs_on_server_that_accepted_it(one, two, servers, request_of):
    job = one.service.submit(request_of)

    two.tick()
    one.tick()
    two.tick()

    assert servers.job(job).runs_on == "one"
    assert servers.job(job).accepted_by == "one"
    assert two.executor.started == []
    assert two.executor.held() == []


def test_job_without_capacity_there_is_run_by_another(one, two, servers, request_of):
    jobs = [one.service.submit(request_of) for _ in range(3)]
    one.tick()
    two.tick()
    assert two.executor.started == []

    servers.wait(2 * OWNER_HEAD_START, one, two)

    assert [servers.job(job).runs_on for job in jobs] == ["one", "one", "two"]


def test_queued_job_of_lost_server_starts_at_once(one, two, servers, request_of):
    job = one.service.submit(request_of)

    servers.wait(LEASE + 1, two)

    assert servers.job(job).runs_on == "two"


def test_oversized_job_does_not_block_the_queue(one, servers, request_of):
    large = servers.server("large", cpus=8)
    busy = large.service.submit({**request_of, "cpus": 8})
    large.tick()
    job = large.service.submit({**request_of, "cpus": 6})
    small = one.service.submit(request_of)

    servers.wait(2 * OWNER_HEAD_START, one, large)

    assert servers.job(busy).runs_on == "large"
    assert servers.job(job).state is JobState.QUEUED
    assert servers.job(small).runs_on == "one"


def test_losing_server_releases_its_reservation(one, two, servers, request_of, monkeypatch):
    job = one.service.submit(request_of)
    two.tick()
    servers.now += OWNER_HEAD_START
    reserve = two.executor.reserve

    def reserve_while_the_other_is_faster(*about):
        one.tick()
        return reserve(*about)

    monkeypatch.setattr(two.executor, "reserve", reserve_while_the_other_is_faster)
    two.tick()

    assert servers.job(job).runs_on == "one"
    assert two.executor.started == []
    assert two.executor.held() == []


def test_server_without_lease_writes_and_starts_nothing(one, two, servers, request_of):
    job = one.service.submit(request_of)
    servers.now += LEASE + 1

    one.move()

    assert servers.job(job).state is JobState.QUEUED
    assert one.executor.started == []


def test_server_with_expired_lease_cannot_write(one, servers, request_of):
    """Stopped between two steps of one round, it goes on as if no time had passed."""
    job = one.service.submit(request_of)
    one.sharing.begin()
    servers.now += LEASE + 1

    one.supervisor.tick()

    assert servers.job(job) == job
    assert one.executor.started == []


def test_tasks_are_planned_under_lease_of_their_round(one, servers, request_of):
    job = one.service.submit(request_of)
    one.tick()

    (task,) = one.sharing.with_fencing_token(servers.job(job).plan)

    assert task.fence == servers.job(job).fence == one.lease.lease().fence
    assert task.limits.lease == TIMEOUT / 2


def test_jobs_wait_for_their_unreachable_server(one, two, servers, request_of):
    job = one.service.submit(request_of)
    one.tick()

    servers.wait(TIMEOUT, two)
    assert servers.job(job).runs_on == "one"
    one.tick()
    one.executor.end(job.id, 1, "worker-0")
    one.tick()

    assert servers.job(job).state is JobState.SUCCEEDED
    assert servers.job(job).attempt == 1
    assert two.executor.started == []


def test_jobs_of_lost_server_are_retried(one, two, servers, request_of):
    job = one.service.submit(request_of)
    one.tick()

    servers.wait(LEASE + TIMEOUT + 20, two)

    found = servers.job(job)
    assert (found.runs_on, found.attempt, found.state) == ("two", 2, JobState.RUNNING)
    assert found.retried == {"agent_lost": 1}
    assert two.executor.started == [f"{job.id}/2/worker-0"]


def test_jobs_of_lost_server_fail_without_retries(one, two, servers, request_of):
    job = one.service.submit({**request_of, "retries": 0})
    one.tick()

    servers.wait(LEASE + TIMEOUT + 20, two)

    found = servers.job(job)
    assert (found.state, found.reason) == (JobState.FAILED, Reason.AGENT_LOST)
    assert found.detail == "Server one, which ran it, is gone."


def test_stop_reaches_job_of_server_that_is_gone(one, two, servers, request_of):
    job = one.service.submit(request_of)
    one.tick()
    two.service.stop(job.id)

    servers.wait(LEASE + TIMEOUT + 20, two)

    assert servers.job(job).state is JobState.STOPPED


def test_returning_server_ends_jobs_adopted_by_another(one, two, servers, request_of):
    job = one.service.submit(request_of)
    one.tick()
    servers.wait(LEASE + TIMEOUT + 20, two)
    before = servers.job(job)

    one.tick()
    one.executor.end(job.id, 1, "worker-0")
    one.tick()

    assert one.executor.revoked == [job.id]
    assert one.executor.held() == []
    assert servers.job(job) == before


@pytest.mark.parametrize("stubborn", [False, True])
def test_reserved_job_of_killed_server_is_taken_over(
    one, servers, request_of, monkeypatch, stubborn
):
    """What is left of it here ends first; what runs then is not taken for a rest."""
    job = one.service.submit(request_of)
    one.executor.reserve(job.id, roles_of(job))
    gone = iter([False, True] if stubborn else [True])
    monkeypatch.setattr(one.executor, "revoke", lambda job_id: next(gone))
    servers.now += LEASE + 1

    one.tick()
    assert one.executor.started == ([] if stubborn else [f"{job.id}/1/worker-0"])
    one.tick()
    one.tick()

    assert servers.job(job).state is JobState.RUNNING
    assert one.executor.held() == [job.id]
    assert one.executor.started == [f"{job.id}/1/worker-0"]


def test_servers_may_renew_leases_after_database_outage(one, two, servers, request_of):
    job = one.service.submit(request_of)
    one.tick()
    servers.now += 10 * TIMEOUT  # it was not reachable

    two.tick()
    two.tick()
    assert servers.job(job).runs_on == "one"
    one.tick()

    assert servers.job(job).state is JobState.RUNNING
    assert servers.job(job).attempt == 1


def test_cluster_is_gone_on_with_by_any_server(servers, request_of):
    first, second = (servers.server(name, executor_name="ray") for name in ("first", "second"))
    second.executor.tasks = first.executor.tasks
    second.executor.places = first.executor.places
    job = first.service.submit(request_of)
    first.tick()

    servers.wait(LEASE + 1, second)
    second.executor.end(job.id, 1, "worker-0")
    second.tick()

    found = servers.job(job)
    assert (found.state, found.attempt, found.runs_on) == (JobState.SUCCEEDED, 1, "second")
    assert second.executor.started == []


def test_job_of_another_executor_is_not_adopted(one, servers, request_of):
    cluster = servers.server("cluster", executor_name="ray")
    job = one.service.submit(request_of)
    one.tick()

    servers.wait(LEASE + 5, cluster)

    assert servers.job(job).runs_on == "one"


def test_job_with_secrets_runs_beside_them_only(one, two, servers, request_of):
    full = [one.service.submit(request_of) for _ in range(2)]
    job = one.service.submit(request_of, secrets={"KEY": "canary"})
    one.tick()
    servers.wait(2 * OWNER_HEAD_START, one, two)
    assert servers.job(job).state is JobState.QUEUED

    one.executor.end(full[0].id, 1, "worker-0")
    servers.wait(1, one, two)

    assert servers.job(job).runs_on == "one"
    assert one.executor.secrets[job.id] == {"KEY": "canary"}


def test_secrets_arriving_during_cleanup_are_kept(one, servers, request_of, monkeypatch):
    living, jobs = servers.records.living(), []
    with monkeypatch.context() as patch:
        patch.setattr(one.service, "_wake", lambda: None)
        jobs.append(one.service.submit(request_of, secrets={"KEY": "canary"}))
        patch.setattr(servers.records, "living", lambda: living)  # looked a moment before
        one.supervisor._recovery.after_crash()

    one.tick()

    assert one.executor.secrets[jobs[0].id] == {"KEY": "canary"}


def test_a_job_whose_secrets_are_gone_is_reported(one, two, servers, request_of):
    job = one.service.submit(request_of, secrets={"KEY": "canary"})

    servers.wait(LEASE + TIMEOUT + 20, two)

    assert servers.job(job).state is JobState.FAILED
    assert servers.job(job).detail == "Its secrets were on server one, which is gone."


def test_two_servers_refuse_same_output(one, two, servers, request_of, monkeypatch):
    asked = {**request_of, "train_url": "obs://bucket/out"}
    draft = two.service._drafts.make

    def draft_while_the_other_accepts(*about, **more):
        drafted = draft(*about, **more)
        one.service.submit(asked)
        return drafted

    monkeypatch.setattr(two.service._drafts, "make", draft_while_the_other_accepts)

    with pytest.raises(InvalidJob, match="is an output of job"):
        two.service.submit(asked)
    assert len(servers.records.page()) == 1


def test_a_repeat_at_another_server_is_harmless(one, two, servers, request_of, monkeypatch):
    first = one.service.submit(request_of, token="token", secrets={"KEY": "canary"})
    monkeypatch.setattr(
        servers.records, "by_token", lambda token: None
    )  # it looked a moment before

    again = two.service.submit(request_of, token="token", secrets={"KEY": "canary"})

    assert again == first
    assert list((two.settings.home / "secrets").glob("*")) == []


def test_job_elsewhere_is_reported_with_its_address(one, two, servers, request_of):
    two.lease._url = "http://two:9420"
    two.lease._lease = None
    servers.now += LEASE + 1
    two.tick()
    job = two.service.submit(request_of)
    two.tick()
    one.tick()

    assert one.service.get(job.id) == servers.job(job)
    for ask in (one.service.lines, one.service.curves, one.service.translation):
        with pytest.raises(OnOtherServer, match="runs on server two") as caught:
            ask(job.id)
        assert caught.value.url == "http://two:9420"
        assert caught.value.hint == "Ask there: DANLU_SERVER=http://two:9420"
    with pytest.raises(OnOtherServer):
        one.service.raw_log(job.id, "worker-0")


@pytest.mark.parametrize(("host", "reported"), [("elsewhere", ""), ("", "http://127.0.0.1:9420")])
def test_local_address_is_not_published_to_others(one, two, servers, request_of, host, reported):
    job = two.service.submit(request_of)
    two.tick()
    own = host or socket.gethostname()
    servers.records.take("two", LEASE, host=own, executor="local", url="http://127.0.0.1:9420")

    with pytest.raises(OnOtherServer) as caught:
        one.service.lines(job.id)

    assert caught.value.url == reported


def test_ended_job_is_removed_on_its_server(one, two, servers, request_of):
    job = two.service.submit(request_of)
    two.tick()
    two.executor.end(job.id, 1, "worker-0")
    two.tick()
    one.tick()
    with pytest.raises(OnOtherServer):
        one.service.remove(job.id)

    servers.wait(LEASE + 1, one)
    one.service.remove(job.id)

    assert servers.records.page() == ()


def test_copied_home_does_not_take_the_lease(one, servers, caplog):
    copy = ServerLease(servers.records, one.settings.home, LEASE, clock=servers.clock)
    copy.start()  # it has come later: the name is its own now
    one.lease.renew()
    copy.renew()
    copy.close()

    assert one.lease.lease() is None
    assert "another server has the name one" in caplog.text
    assert copy.lease().fence == 2


def test_lease_is_kept_during_short_outage(one, servers, monkeypatch):
    def away(*about, **more):
        raise Unavailable("away")

    lease = one.lease.lease()
    with monkeypatch.context() as patch:
        patch.setattr(servers.records, "renew", away)
        servers.now += LEASE / 2
        with pytest.raises(Unavailable):
            one.lease.renew()
        assert one.lease.lease() == lease
        servers.now += LEASE
        assert one.lease.lease() is None
    one.lease.renew()

    assert one.lease.lease().fence == lease.fence + 1
    reported = json.loads((one.settings.home / "lease.json").read_text())
    assert (reported["fence"], reported["until"]) == (
        lease.fence + 1,
        pytest.approx(servers.now + LEASE),
    )
