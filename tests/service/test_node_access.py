"""Places a job names and its cluster cannot reach."""

import pytest

from contracts.s3_server import SECRET, SmallS3, endpoint, serve
from danlu.client import api
from danlu.dialects import modelarts
from danlu.errors import Conflict, InvalidJob, Refused
from danlu.job.job import Change, Job
from danlu.job.state import JobState
from danlu.service.jobs import locations
from danlu.service.jobs.locations import find_unreachable
from danlu.service.servers.home import check_executor
from danlu.settings import Endpoint, Settings
from danlu.storage.locate import Stores, jobs_place
from small_s3 import silence

REQUEST = {
    "name": "mnist",
    "code": "obs://bucket/code",
    "boot_file": "train.py",
    "data_url": "file:///data",
    "train_url": "s3://bucket/out",
}
QUEUED = Change(JobState.QUEUED, 0, 1)
SERVICE = {"s3": Endpoint("http://127.0.0.1:1")}


def _fields(settings):
    spec = modelarts.read(REQUEST)
    return [field for field, _ in find_unreachable(spec, Stores.of(settings), settings)]


def test_files_of_the_server_are_reported_by_name(tmp_path):
    on_ray = Settings(home=tmp_path, executor="ray")

    assert _fields(on_ray) == ["code", "data_url", "train_url"]
    assert _fields(Settings(home=tmp_path, executor="ray", stores=SERVICE)) == ["data_url"]


def test_disk_that_all_nodes_share_is_no_fault(tmp_path):
    assert _fields(Settings(home=tmp_path, executor="ray", store_shared=True)) == []


def test_on_this_machine_everything_is_in_reach(tmp_path):
    assert _fields(Settings(home=tmp_path)) == []


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({}, "cluster_store is not set"),
        ({"cluster_store": "s3://bucket/danlu"}, "is on the disk of this machine"),
        ({"cluster_store": "file:///data"}, "is on the disk of this machine"),
        ({"cluster_store": "bucket"}, "is not a URI"),
    ],
)
def test_store_unreachable_for_nodes_is_refused(tmp_path, values, words):
    with pytest.raises(Refused, match=words):
        jobs_place(Settings(home=tmp_path, **values))


def test_cluster_keeps_jobs_in_configured_store(tmp_path):
    place = jobs_place(Settings(home=tmp_path, cluster_store="obs://b-1/x/", stores=SERVICE))

    assert place.prefix == "x/jobs/"
    assert jobs_place(Settings(home=tmp_path, store_shared=True)).prefix == "jobs/"


def test_jobs_of_another_executor_are_not_adopted(tmp_path, new_records):
    job = Job("j", "mnist", modelarts.read(REQUEST), created=0, history=(QUEUED,))
    records = new_records()
    check_executor(tmp_path, "ray", records)
    kept = records.add(job, "")
    check_executor(tmp_path, "local", records)  # a queued job runs wherever capacity is free

    records.save(kept.moved(JobState.STARTING, 1.0))

    check_executor(tmp_path, "local", records)
    with pytest.raises(Conflict, match="jobs that 'local' started are running: mnist"):
        check_executor(tmp_path, "ray", records)


def test_silent_stores_are_named_at_once(platform, monkeypatch):
    monkeypatch.setattr(locations, "_ANSWER", 0.2)
    service = SmallS3("bucket")
    service.faults.append(silence)
    with serve(service) as url:
        platform.settle(stores={"s3": endpoint("http://127.0.0.1:1"), "ks3": endpoint(url)})
        request = {**REQUEST, "code": "cos://bucket/code", "boot_file": "absent.py"}
        platform.put("cos://bucket/code/train.py", b"print(1)")

        with pytest.raises(InvalidJob) as refused:
            platform.service.submit({**request, "data_url": "ks3://bucket/data"})

    faults = dict(refused.value.faults)
    assert set(faults) == {"boot_file", "data_url", "train_url"}
    assert (
        f"the object store {url} did not answer (the connection was silent too long; tried for"
        in faults["data_url"]
    )
    assert "the object store http://127.0.0.1:1 did not answer (no connec" in faults["train_url"]
    assert "danlu store ls" in faults["train_url"]
    assert SECRET not in refused.value.message


def test_client_waits_longer_than_server_tests_stores():
    assert api._CHECKING > 2 * locations._ALL_ANSWERS
