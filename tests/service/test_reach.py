"""Places a job names and its cluster cannot reach."""

import pytest

from danlu.dialects import modelarts
from danlu.errors import Conflict, Refused
from danlu.job.job import Change, Job
from danlu.job.state import JobState
from danlu.records.memory import MemoryRecords
from danlu.service.reach import out_of_reach
from danlu.service.switching import take_over
from danlu.settings import Endpoint, Settings
from danlu.storage.cluster import jobs_place
from danlu.storage.locate import Stores

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
    return [field for field, _ in out_of_reach(spec, Stores.of(settings), settings)]


def test_files_of_the_server_are_told_by_name(tmp_path):
    on_ray = Settings(home=tmp_path, executor="ray")

    assert _fields(on_ray) == ["code", "data_url", "train_url"]
    assert _fields(Settings(home=tmp_path, executor="ray", stores=SERVICE)) == ["data_url"]


def test_a_disk_that_all_nodes_share_is_no_fault(tmp_path):
    assert _fields(Settings(home=tmp_path, executor="ray", store_shared=True)) == []


def test_on_this_machine_everything_is_in_reach(tmp_path):
    assert _fields(Settings(home=tmp_path)) == []


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({}, "cluster_store is not set"),
        ({"cluster_store": "s3://bucket/danlu"}, "lies on the disk of this machine"),
        ({"cluster_store": "file:///data"}, "lies on the disk of this machine"),
        ({"cluster_store": "bucket"}, "is not a URI"),
    ],
)
def test_a_cluster_is_refused_a_store_its_nodes_do_not_reach(tmp_path, values, words):
    with pytest.raises(Refused, match=words):
        jobs_place(Settings(home=tmp_path, **values))


def test_a_cluster_keeps_its_jobs_in_the_store_that_is_set(tmp_path):
    place = jobs_place(Settings(home=tmp_path, cluster_store="obs://b-1/x/", stores=SERVICE))

    assert place.prefix == "x/jobs/"
    assert jobs_place(Settings(home=tmp_path, store_shared=True)).prefix == "jobs/"


def test_jobs_of_one_executor_are_not_taken_over_by_another(tmp_path):
    job = Job("j", "mnist", modelarts.read(REQUEST), created=0, history=(QUEUED,))
    records = MemoryRecords()
    take_over(tmp_path, "ray", records)
    kept = records.add(job, "")
    take_over(tmp_path, "local", records)  # a queued job runs wherever there is room

    records.save(kept.moved(JobState.STARTING, 1.0))

    take_over(tmp_path, "local", records)
    with pytest.raises(Conflict, match="jobs run that 'local' started: mnist"):
        take_over(tmp_path, "ray", records)
