"""A job that is run again writes beside the first one, unless the request sets another output."""

import pytest

from danlu.errors import Conflict, InvalidJob
from danlu.storage.previous import record_start


def first(platform, request_of, **more):
    return platform.service.submit({**request_of, "name": "first", **more})


def end(platform, job):
    platform.service.stop(job.id)
    platform.tick()


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
def test_a_rerun_writes_beside_its_job(platform, request_of, uri, beside):
    old = first(platform, request_of, train_url=uri)
    end(platform, old)

    again = platform.service.rerun("first", {})

    assert again.spec.outputs == {"train_url": beside.format(again.name)}
    was = old.spec.outputs["train_url"]
    assert (
        f"train_url: this rerun writes to {again.spec.outputs['train_url']}; job first wrote to "
        f"{was}. --same-output continues there." in again.notes
    )


def test_a_rerun_of_a_rerun_writes_beside_both(platform, request_of):
    """While all of them run: no two write to one place."""
    old = first(platform, request_of, train_url="obs://bucket/log")

    one = platform.service.rerun(old.id, {})
    two = platform.service.rerun(one.id, {})

    assert two.spec.outputs == {"train_url": f"obs://bucket/log-{two.name}"}
    assert len({old.name, one.name, two.name}) == 3


def test_every_output_is_another_place(platform, request_of):
    first(platform, request_of, outputs={"log": "obs://bucket/log", "model": "obs://bucket/{id}"})

    again = platform.service.rerun("first", {})

    assert again.spec.outputs == {
        "log": f"obs://bucket/log-{again.name}",
        "model": f"obs://bucket/{again.id}",
    }


def test_rerun_continues_in_same_place_where_asked(platform, request_of):
    old = first(
        platform, request_of, train_url="obs://bucket/runs/{name}", outputs={"b": "obs://bbb"}
    )
    end(platform, old)

    again = platform.service.rerun("first", {}, same_output=True)

    assert again.spec.outputs == old.spec.outputs
    assert not any("this rerun writes" in note for note in again.notes)


def test_same_output_is_refused_while_its_job_runs(platform, request_of):
    first(platform, request_of, train_url="obs://bucket/log")

    with pytest.raises(InvalidJob, match="is an output of job 'first', which has not ended"):
        platform.service.rerun("first", {}, same_output=True)


def test_the_model_of_modelmaker_continues_too(platform):
    platform.put("obs://bucket/code/model.py", b"x = 1")
    request = {"dialect": "modelmaker", "code": "obs://bucket/code", "model_file": "model.py"}
    old = platform.service.submit({**request, "name": "first"})
    end(platform, old)

    assert platform.service.rerun("first", {}).spec.outputs != old.spec.outputs
    again = platform.service.rerun("first", {}, same_output=True)
    assert again.spec.outputs == old.spec.outputs == {"model": "obs://danlu-models/first"}


@pytest.mark.parametrize(
    ("more", "reported"),
    [
        ({"train_url": "obs://bucket/log", "rehearse": True}, "a rehearsal has a scratch location"),
        ({"dialect": "ti"}, "TI keeps the outputs of each job below its name"),
    ],
)
def test_same_output_is_refused_for_other_jobs(platform, request_of, more, reported):
    first(platform, request_of, **more)

    with pytest.raises(InvalidJob, match=f"same_output: {reported}"):
        platform.service.rerun("first", {}, same_output=True)


def test_fields_are_changed_and_tables_merged(platform, request_of):
    platform.put("obs://bucket/other/a.csv")
    first(
        platform,
        request_of,
        data_url="obs://bucket/data",
        train_url="obs://bucket/log",
        outputs={"a": "obs://bucket/a", "b": "obs://bucket/b"},
    )

    again = platform.service.rerun(
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


def test_field_that_service_does_not_have_is_refused(platform, request_of):
    first(platform, request_of)

    with pytest.raises(InvalidJob, match="output_path: is not a field"):
        platform.service.rerun("first", {}, changes={"output_path": "obs://bucket/x"})


def test_a_rehearsal_that_is_run_again_is_one(platform, request_of):
    first(platform, request_of, train_url="obs://bucket/log", rehearse=True)

    again = platform.service.rerun("first", {})

    assert again.spec.rehearsal
    assert "Nothing is written to obs://bucket/log." in " ".join(again.notes)


def test_named_job_of_ti_has_new_name(platform, request_of):
    first(platform, {"dialect": "ti", "code": "obs://bucket/code", "entry_point": "train.py"})
    named = platform.service.submit(
        {"dialect": "ti", "code": "obs://bucket/code", "entry_point": "train.py", "job_name": "n1"}
    )

    assert platform.service.rerun(named.id, {}).name != "n1"


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
def trainer(platform):
    """The request of a KDL job, whose places are arguments."""
    platform.put("ks3://code/trainer/task.py", TRAINS)
    platform.put("ks3://code/evaluation/task.py", EVALUATES)
    platform.put("ks3://b-1/data/x.csv")
    args = "--data ks3://b-1/data --ckpt ks3://b-1/ckpt"
    return {"dialect": "kdl", "code": "ks3://code", "module": "trainer.task", "job_args": args}


def write(platform, job, uri, folder):
    """Do what the runtime of a script does when it writes."""
    record_start(platform.stores.at(folder), job.id)
    platform.put(uri, b"written by the job")


def test_rerun_writes_beside_url_of_its_job(platform, trainer):
    old = platform.service.submit({**trainer, "name": "first"})
    write(platform, old, "ks3://b-1/ckpt/model", "ks3://b-1/ckpt")
    end(platform, old)

    again = platform.service.rerun("first", {})
    beside = f"ks3://b-1/ckpt-{again.name}"
    assert again.spec.options["job_args"] == f"--data ks3://b-1/data --ckpt {beside}"
    assert (
        f"ckpt: this rerun gets {beside}; job first wrote to ks3://b-1/ckpt. "
        "--same-output continues there." in again.notes
    )

    write(platform, again, f"{beside}/model", beside)
    third = platform.service.rerun(again.id, {})
    assert third.spec.options["job_args"].endswith(f"--ckpt ks3://b-1/ckpt-{third.name}")


def test_a_rerun_continues_at_a_url_where_asked(platform, trainer):
    old = platform.service.submit({**trainer, "name": "first"})
    write(platform, old, "ks3://b-1/ckpt/model", "ks3://b-1/ckpt")
    end(platform, old)

    again = platform.service.rerun("first", {}, same_output=True)

    assert again.spec.options["job_args"] == trainer["job_args"]


def test_a_file_among_the_arguments_keeps_its_ending(platform, trainer):
    args = "--ckpt=ks3://b-1/models/m.h5"
    old = platform.service.submit({**trainer, "name": "first", "job_args": args})
    write(platform, old, "ks3://b-1/models/m.h5", "ks3://b-1/models")
    end(platform, old)

    again = platform.service.rerun("first", {})

    assert again.spec.options["job_args"] == f"--ckpt=ks3://b-1/models/m-{again.name}.h5"


def test_rerun_warns_where_url_was_not_empty(platform, trainer):
    """The job may have read what was there: the URL stays."""
    platform.put("ks3://b-1/ckpt/earlier")
    old = platform.service.submit({**trainer, "name": "first"})
    write(platform, old, "ks3://b-1/ckpt/model", "ks3://b-1/ckpt")
    end(platform, old)

    again = platform.service.rerun("first", {})

    assert again.spec.options["job_args"] == trainer["job_args"]
    assert (
        "ckpt: this rerun gets ks3://b-1/ckpt, to which job first wrote. It continues there, "
        "and what it replaces is kept (danlu restore). For another location: danlu rerun first -p "
        "ckpt=URL" in again.notes
    )


def test_two_jobs_do_not_write_to_one_url(platform, trainer):
    first = platform.service.submit({**trainer, "name": "first"})
    reported = "ckpt: job 'first', which has not ended, writes to 'ks3://b-1/ckpt' too"

    with pytest.raises(InvalidJob, match=reported):  # nothing is there, so it is an output
        platform.service.submit(trainer)
    write(platform, first, "ks3://b-1/ckpt/model", "ks3://b-1/ckpt")
    with pytest.raises(InvalidJob, match=reported):
        platform.service.submit(trainer)

    other = trainer["job_args"].replace("b-1/ckpt", "b-1/ckpt2")
    assert platform.service.submit({**trainer, "job_args": other})  # with the same data
    assert platform.service.submit({**trainer, "rehearse": True})


def test_a_job_may_read_what_another_job_writes(platform, trainer):
    first = platform.service.submit({**trainer, "name": "first"})
    write(platform, first, "ks3://b-1/ckpt/model", "ks3://b-1/ckpt")

    assert platform.service.submit({**trainer, "module": "evaluation.task"})


def test_files_are_not_restored_while_job_writes_there(platform, trainer):
    old = platform.service.submit({**trainer, "name": "first"})
    write(platform, old, "ks3://b-1/ckpt/model", "ks3://b-1/ckpt")
    end(platform, old)
    second = platform.service.submit({**trainer, "name": "second"})
    write(platform, second, "ks3://b-1/ckpt/model", "ks3://b-1/ckpt")

    with pytest.raises(Conflict, match="job 'second', which has not ended"):
        platform.service.restore("first")
