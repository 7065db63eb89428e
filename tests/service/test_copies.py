"""What a job replaced in its outputs: brought back, and removed when it is old."""

import pytest

from danlu.dialects.planning import named_by_arguments
from danlu.errors import Conflict
from danlu.job.plan import Command
from danlu.job.state import Reason
from danlu.service.outputs.previous import drop_old
from danlu.storage.previous import list_previous, record_start

OUT = "obs://bucket/out"
DAY = 24 * 3600.0


@pytest.fixture
def replaced(platform, request_of):
    """A job that has replaced a model, and has not ended yet."""
    platform.put(f"{OUT}/model", b"old")
    job = platform.service.submit({**request_of, "train_url": OUT, "retries": 0})
    platform.tick()
    writes(platform, job, b"new")
    return job


def writes(platform, job, data):
    start = record_start(platform.stores.at(OUT), job.id)
    platform.stores.keep(job.id, {OUT: start})
    platform.put(f"{OUT}/model", data)
    platform.stores.keep(job.id, {})


def ends(platform, job):
    platform.executor.end(job.id, 1, "worker-0", reason=Reason.DONE)
    platform.tick()


def model(platform):
    return platform.stores.at(OUT).storage.read("out/model")


def test_what_an_ended_job_replaced_comes_back(platform, replaced):
    ends(platform, replaced)

    dry = platform.service.restore(replaced.name, dry=True)
    assert model(platform) == b"new"
    done = platform.service.restore(replaced.name)

    assert [list(each.restored) for each in dry.outputs] == [["model"]]
    assert [(each.uri, list(each.restored)) for each in done.outputs] == [(OUT, ["model"])]
    assert model(platform) == b"old"


def test_one_place_is_restored_once(platform, request_of):
    """The output ends with a slash, the argument that names it too does not."""
    parameters = {"also": "s3://bucket/out"}
    request = {**request_of, "train_url": f"{OUT}/", "parameters": parameters}
    job = platform.service.submit({**request, "retries": 0})
    platform.tick()
    ends(platform, job)

    assert [each.uri for each in platform.service.restore(job.name).outputs] == [f"{OUT}/"]


def test_job_that_has_not_ended_may_replace_more(platform, replaced):
    with pytest.raises(Conflict, match="may replace more"):
        platform.service.restore(replaced.id)


def test_nothing_is_restored_under_hands_of_another_job(platform, replaced, request_of):
    ends(platform, replaced)
    platform.service.submit({**request_of, "train_url": OUT, "name": "second"})

    with pytest.raises(Conflict, match="second"):
        platform.service.restore(replaced.id)


def test_a_job_that_replaced_nothing_restores_nothing(platform, request_of):
    job = platform.service.submit({**request_of, "train_url": OUT, "retries": 0})
    platform.tick()
    ends(platform, job)

    (output,) = platform.service.restore(job.id).outputs

    assert (output.uri, list(output.restored), output.kept_as) == (OUT, [], "")


def test_copies_of_ended_jobs_go_after_their_days(platform, replaced):
    ends(platform, replaced)
    location = platform.stores.at(OUT)
    made = max(entry.modified for entry in location.storage.list("out/.danlu/")) / 1e9
    ended = platform.service.get(replaced.id).ended
    job = platform.records.get(replaced.id)
    # The clock of the platform is the test's; that of the files is the machine's.
    shift = made - ended
    moved = [
        type(each)(each.state, each.at + shift, each.attempt, each.reason) for each in job.history
    ]
    platform.records.save(type(job)(**{**vars(job), "history": tuple(moved)}))

    drop_old(platform.records, platform.settings, made + 29 * DAY)
    assert [each.id for each in list_previous(location)] == [replaced.id]

    drop_old(platform.records, platform.settings, made + 31 * DAY)
    assert list_previous(location) == []
    assert model(platform) == b"new"


def test_folders_named_by_arguments_are_found():
    args = (
        "--model_path=ks3://bucket/model/1",
        "--files=s3://bucket/a/x.csv,obs://bucket/b/",
        "--again",
        "ks3://bucket/model/1",
        "--other=/cache/model",
        "--odd=s3://",
    )

    found = named_by_arguments(Command("trainer.task", args))

    assert found == ("ks3://bucket/model/1", "s3://bucket/a", "obs://bucket/b/")
