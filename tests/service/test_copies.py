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
def replaced(house, request_of):
    """A job that has replaced a model, and has not ended yet."""
    house.put(f"{OUT}/model", b"old")
    job = house.service.submit({**request_of, "train_url": OUT, "retries": 0})
    house.tick()
    writes(house, job, b"new")
    return job


def writes(house, job, data):
    start = record_start(house.stores.at(OUT), job.id)
    house.stores.keep(job.id, {OUT: start})
    house.put(f"{OUT}/model", data)
    house.stores.keep(job.id, {})


def ends(house, job):
    house.executor.end(job.id, 1, "worker-0", reason=Reason.DONE)
    house.tick()


def model(house):
    return house.stores.at(OUT).storage.read("out/model")


def test_what_an_ended_job_replaced_comes_back(house, replaced):
    ends(house, replaced)

    dry = house.service.restore(replaced.name, dry=True)
    assert model(house) == b"new"
    done = house.service.restore(replaced.name)

    assert [list(each.restored) for each in dry.outputs] == [["model"]]
    assert [(each.uri, list(each.restored)) for each in done.outputs] == [(OUT, ["model"])]
    assert model(house) == b"old"


def test_one_place_is_restored_once(house, request_of):
    """The output ends with a slash, the argument that names it too does not."""
    parameters = {"also": "s3://bucket/out"}
    request = {**request_of, "train_url": f"{OUT}/", "parameters": parameters}
    job = house.service.submit({**request, "retries": 0})
    house.tick()
    ends(house, job)

    assert [each.uri for each in house.service.restore(job.name).outputs] == [f"{OUT}/"]


def test_job_that_has_not_ended_may_replace_more(house, replaced):
    with pytest.raises(Conflict, match="may replace more"):
        house.service.restore(replaced.id)


def test_nothing_is_restored_under_hands_of_another_job(house, replaced, request_of):
    ends(house, replaced)
    house.service.submit({**request_of, "train_url": OUT, "name": "second"})

    with pytest.raises(Conflict, match="second"):
        house.service.restore(replaced.id)


def test_a_job_that_replaced_nothing_restores_nothing(house, request_of):
    job = house.service.submit({**request_of, "train_url": OUT, "retries": 0})
    house.tick()
    ends(house, job)

    (output,) = house.service.restore(job.id).outputs

    assert (output.uri, list(output.restored), output.kept_as) == (OUT, [], "")


def test_copies_of_ended_jobs_go_when_their_days_are_over(house, replaced):
    ends(house, replaced)
    location = house.stores.at(OUT)
    made = max(entry.modified for entry in location.storage.list("out/.danlu/")) / 1e9
    ended = house.service.get(replaced.id).ended
    job = house.records.get(replaced.id)
    # The clock of the platform is the test's; that of the files is the machine's.
    shift = made - ended
    moved = [
        type(each)(each.state, each.at + shift, each.attempt, each.reason) for each in job.history
    ]
    house.records.save(type(job)(**{**vars(job), "history": tuple(moved)}))

    drop_old(house.records, house.settings, made + 29 * DAY)
    assert [each.id for each in list_previous(location)] == [replaced.id]

    drop_old(house.records, house.settings, made + 31 * DAY)
    assert list_previous(location) == []
    assert model(house) == b"new"


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
