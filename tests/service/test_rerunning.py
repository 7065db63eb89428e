"""A job that is run again writes beside the first one, unless the request sets another output."""

import pytest

from danlu.errors import Conflict, InvalidJob
from danlu.storage.previous import record_start


def first(house, request_of, **more):
    return house.service.submit({**request_of, "name": "first", **more})


def end(house, job):
    house.service.stop(job.id)
    house.tick()


@pytest.mark.parametrize(
    ("uri", "beside"),
    [
        ("obs://bucket/log", "obs://bucket/log-{}"),
        ("obs://bucket/log/", "obs://bucket/log-{}/"),
        ("obs://out", "obs://out/{}/"),
        ("obs://out/", "obs://out/{}/"),
        ("file:///tmp/danlu-out", "file:///tmp/danlu-out-{}"),
        ("obs://bucket/runs/{name}", "obs://bucket/runs/{}"),
    ],
)
def test_a_rerun_writes_beside_its_job(house, request_of, uri, beside):
    old = first(house, request_of, train_url=uri)
    end(house, old)

    again = house.service.rerun("first", {})

    assert again.spec.outputs == {"train_url": beside.format(again.name)}
    was = old.spec.outputs["train_url"]
    assert (
        f"train_url: this rerun writes to {again.spec.outputs['train_url']}; job first wrote to "
        f"{was}. --same-output continues there." in again.notes
    )


def test_a_rerun_of_a_rerun_writes_beside_both(house, request_of):
    """While all of them run: no two write to one place."""
    old = first(house, request_of, train_url="obs://bucket/log")

    one = house.service.rerun(old.id, {})
    two = house.service.rerun(one.id, {})

    assert two.spec.outputs == {"train_url": f"obs://bucket/log-{two.name}"}
    assert len({old.name, one.name, two.name}) == 3


def test_every_output_is_another_place(house, request_of):
    first(house, request_of, outputs={"log": "obs://bucket/log", "model": "obs://bucket/{id}"})

    again = house.service.rerun("first", {})

    assert again.spec.outputs == {
        "log": f"obs://bucket/log-{again.name}",
        "model": f"obs://bucket/{again.id}",
    }


def test_rerun_continues_in_same_place_where_asked(house, request_of):
    old = first(house, request_of, train_url="obs://bucket/runs/{name}", outputs={"b": "obs://bbb"})
    end(house, old)

    again = house.service.rerun("first", {}, same_output=True)

    assert again.spec.outputs == old.spec.outputs
    assert not any("this rerun writes" in note for note in again.notes)


def test_same_output_is_refused_while_its_job_runs(house, request_of):
    first(house, request_of, train_url="obs://bucket/log")

    with pytest.raises(InvalidJob, match="is an output of job 'first', which has not ended"):
        house.service.rerun("first", {}, same_output=True)


def test_the_model_of_modelmaker_continues_too(house):
    house.put("obs://bucket/code/model.py", b"x = 1")
    request = {"dialect": "modelmaker", "code": "obs://bucket/code", "model_file": "model.py"}
    old = house.service.submit({**request, "name": "first"})
    end(house, old)

    assert house.service.rerun("first", {}).spec.outputs != old.spec.outputs
    again = house.service.rerun("first", {}, same_output=True)
    assert again.spec.outputs == old.spec.outputs == {"model": "obs://danlu-models/first"}


@pytest.mark.parametrize(
    ("more", "reported"),
    [
        ({"train_url": "obs://bucket/log", "rehearse": True}, "a rehearsal has a scratch location"),
        ({"dialect": "ti"}, "TI keeps the outputs of each job below its name"),
    ],
)
def test_same_output_is_refused_where_there_can_be_none(house, request_of, more, reported):
    first(house, request_of, **more)

    with pytest.raises(InvalidJob, match=f"same_output: {reported}"):
        house.service.rerun("first", {}, same_output=True)


def test_fields_are_changed_and_tables_merged(house, request_of):
    house.put("obs://bucket/other/a.csv")
    first(
        house,
        request_of,
        data_url="obs://bucket/data",
        train_url="obs://bucket/log",
        outputs={"a": "obs://bucket/a", "b": "obs://bucket/b"},
    )

    again = house.service.rerun(
        "first",
        {"lr": "0.5"},
        changes={
            "name": "second",
            "data_url": "obs://bucket/other",
            "train_url": "obs://bucket/second",
            "outputs": {"a": "obs://bucket/a-2"},
        },
    )

    assert (again.name, again.spec.params) == ("second", (("lr", "0.5"),))
    assert again.spec.inputs == {"data_url": "obs://bucket/other"}
    assert again.spec.outputs == {
        "train_url": "obs://bucket/second",
        "a": "obs://bucket/a-2",
        "b": "obs://bucket/b-second",
    }


def test_field_that_service_does_not_have_is_refused(house, request_of):
    first(house, request_of)

    with pytest.raises(InvalidJob, match="output_path: is not a field"):
        house.service.rerun("first", {}, changes={"output_path": "obs://bucket/x"})


def test_a_rehearsal_that_is_run_again_is_one(house, request_of):
    first(house, request_of, train_url="obs://bucket/log", rehearse=True)

    again = house.service.rerun("first", {})

    assert again.spec.rehearsal
    assert "Nothing is written to obs://bucket/log." in " ".join(again.notes)


def test_job_of_ti_that_was_named_has_new_name(house, request_of):
    first(house, {"dialect": "ti", "code": "obs://bucket/code", "entry_point": "train.py"})
    named = house.service.submit(
        {"dialect": "ti", "code": "obs://bucket/code", "entry_point": "train.py", "job_name": "n1"}
    )

    assert house.service.rerun(named.id, {}).name != "n1"


TRAINS = b"""import argparse
import tensorflow as tf
parser = argparse.ArgumentParser()
parser.add_argument("--data")
parser.add_argument("--ckpt")
args = parser.parse_args()
files = tf.gfile.ListDirectory(args.data)
tf.train.Saver().save(None, args.ckpt + "/model")
"""
EVALUATES = TRAINS.replace(b'tf.train.Saver().save(None, args.ckpt + "/model")', b"") + (
    b"tf.train.Saver().restore(None, tf.train.latest_checkpoint(args.ckpt))\n"
)


@pytest.fixture
def trainer(house):
    """The request of a KDL job, whose places are arguments."""
    house.put("ks3://code/trainer/task.py", TRAINS)
    house.put("ks3://code/evaluation/task.py", EVALUATES)
    house.put("ks3://b-1/data/x.csv")
    args = "--data ks3://b-1/data --ckpt ks3://b-1/ckpt"
    return {"dialect": "kdl", "code": "ks3://code", "module": "trainer.task", "job_args": args}


def write(house, job, uri, folder):
    """Do what the runtime of a script does when it writes."""
    record_start(house.stores.at(folder), job.id)
    house.put(uri, b"written by the job")


def test_rerun_writes_beside_url_of_its_job(house, trainer):
    old = house.service.submit({**trainer, "name": "first"})
    write(house, old, "ks3://b-1/ckpt/model", "ks3://b-1/ckpt")
    end(house, old)

    again = house.service.rerun("first", {})
    beside = f"ks3://b-1/ckpt-{again.name}"
    assert again.spec.options["job_args"] == f"--data ks3://b-1/data --ckpt {beside}"
    assert (
        f"ckpt: this rerun gets {beside}; job first wrote to ks3://b-1/ckpt. "
        "--same-output continues there." in again.notes
    )

    write(house, again, f"{beside}/model", beside)
    third = house.service.rerun(again.id, {})
    assert third.spec.options["job_args"].endswith(f"--ckpt ks3://b-1/ckpt-{third.name}")


def test_a_rerun_continues_at_a_url_where_asked(house, trainer):
    old = house.service.submit({**trainer, "name": "first"})
    write(house, old, "ks3://b-1/ckpt/model", "ks3://b-1/ckpt")
    end(house, old)

    again = house.service.rerun("first", {}, same_output=True)

    assert again.spec.options["job_args"] == trainer["job_args"]


def test_a_file_among_the_arguments_keeps_its_ending(house, trainer):
    args = "--ckpt=ks3://b-1/models/m.h5"
    old = house.service.submit({**trainer, "name": "first", "job_args": args})
    write(house, old, "ks3://b-1/models/m.h5", "ks3://b-1/models")
    end(house, old)

    again = house.service.rerun("first", {})

    assert again.spec.options["job_args"] == f"--ckpt=ks3://b-1/models/m-{again.name}.h5"


def test_rerun_warns_where_url_was_not_empty(house, trainer):
    """The job may have read what was there: the URL stays."""
    house.put("ks3://b-1/ckpt/earlier")
    old = house.service.submit({**trainer, "name": "first"})
    write(house, old, "ks3://b-1/ckpt/model", "ks3://b-1/ckpt")
    end(house, old)

    again = house.service.rerun("first", {})

    assert again.spec.options["job_args"] == trainer["job_args"]
    assert (
        "ckpt: this rerun gets ks3://b-1/ckpt, to which job first wrote. It continues there, "
        "and what it replaces is kept (danlu restore). For another location: danlu rerun first -p "
        "ckpt=URL" in again.notes
    )


def test_two_jobs_do_not_write_to_one_url(house, trainer):
    first = house.service.submit({**trainer, "name": "first"})
    reported = "ckpt: job 'first', which has not ended, writes to 'ks3://b-1/ckpt' too"

    with pytest.raises(InvalidJob, match=reported):  # nothing is there, so it is an output
        house.service.submit(trainer)
    write(house, first, "ks3://b-1/ckpt/model", "ks3://b-1/ckpt")
    with pytest.raises(InvalidJob, match=reported):
        house.service.submit(trainer)

    other = trainer["job_args"].replace("b-1/ckpt", "b-1/ckpt2")
    assert house.service.submit({**trainer, "job_args": other})  # with the same data
    assert house.service.submit({**trainer, "rehearse": True})


def test_a_job_may_read_what_another_job_writes(house, trainer):
    first = house.service.submit({**trainer, "name": "first"})
    write(house, first, "ks3://b-1/ckpt/model", "ks3://b-1/ckpt")

    assert house.service.submit({**trainer, "module": "evaluation.task"})


def test_files_are_not_restored_while_job_writes_there(house, trainer):
    old = house.service.submit({**trainer, "name": "first"})
    write(house, old, "ks3://b-1/ckpt/model", "ks3://b-1/ckpt")
    end(house, old)
    second = house.service.submit({**trainer, "name": "second"})
    write(house, second, "ks3://b-1/ckpt/model", "ks3://b-1/ckpt")

    with pytest.raises(Conflict, match="job 'second', which has not ended"):
        house.service.restore("first")
