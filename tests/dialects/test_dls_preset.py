import pytest

from danlu.dialects import dls
from danlu.dialects.planning import with_runtime
from danlu.errors import InvalidJob, Unsupported
from danlu.job.plan import Place

FLOWERS = {
    "preset": "resnet_v1_50",
    "data_url": "s3://bucket/flowers",
    "train_url": "s3://bucket/log",
}


def command(request, **place):
    spec = dls.read(request)
    return dls.command(spec, Place("worker", 0, job_id="j1", **place))


def faults(request):
    with pytest.raises(InvalidJob) as caught:
        dls.read(request)
    return dict(caught.value.faults)


def test_preset_model_runs_program_of_two_lines():
    reported = command({**FLOWERS, "parameters": {"batch_size": 64, "data_format": "NCHW"}})

    program = "/home/work/user-job-dir/resnet_v1_50/resnet_v1_50.py"
    assert reported.run == program
    assert reported.files[program].endswith(
        'from moxing.tensorflow.preset import main\n\nmain("resnet_v1_50")\n'
    )
    assert reported.args == (
        "--data_url=/home/work/inputs/data_url_0",
        "--train_url=/home/work/outputs/train_url_0",
        "--batch_size=64",
        "--data_format=NCHW",
        "--num_gpus=1",
    )
    assert [(fetch.uri, fetch.what) for fetch in reported.fetch] == [
        ("s3://bucket/flowers", "data_url")
    ]


def test_it_goes_on_with_what_earlier_job_left():
    (push,) = command(FLOWERS).push

    assert (push.uri, push.restore) == ("s3://bucket/log", True)


def test_it_sees_tensorflow_1_with_limited_steps():
    spec = dls.read({**FLOWERS, "max_steps": 3, "framework_version": "1.15"})

    env = with_runtime(dls.command(spec, Place("worker", 0)), spec).env

    assert (env["DANLU_TENSORFLOW"], env["DANLU_MAX_STEPS"]) == ("1.15.0", "3")
    assert "DANLU_CODE" not in env


@pytest.mark.parametrize(
    ("checkpoint", "uri", "reported"),
    [
        ("s3://b/log", "s3://b/log", ""),
        ("s3://b/log/model.ckpt-100", "s3://b/log", "/model.ckpt-100"),
        ("s3://b/resnet_v1_50.ckpt", "s3://b", "/resnet_v1_50.ckpt"),
        ("s3://b/log/model.ckpt-100.index", "s3://b/log", "/model.ckpt-100"),
        ("s3://b/log/model.ckpt-9.data-00000-of-00001", "s3://b/log", "/model.ckpt-9"),
    ],
)
def test_a_checkpoint_is_brought_with_its_folder(checkpoint, uri, reported):
    task = command({**FLOWERS, "checkpoint_url": checkpoint})

    assert [fetch.uri for fetch in task.fetch] == ["s3://bucket/flowers", uri]
    assert f"--checkpoint_url=/home/work/inputs/checkpoint_url_0{reported}" in task.args


def test_channels_may_be_passed_as_urls():
    task = command({**FLOWERS, "checkpoint_url": "s3://b/log/model.ckpt-1", "urls": "all"})

    assert task.args == (
        "--data_url=s3://bucket/flowers",
        "--checkpoint_url=s3://b/log/model.ckpt-1",
        "--train_url=s3://bucket/log",
        "--num_gpus=1",
    )
    assert (task.fetch, task.push) == ((), ())


def test_two_nodes_are_ps_and_worker_on_each():
    spec = dls.read({**FLOWERS, "nodes": 2})

    assert [(role.name, role.count) for role in dls.roles(spec)] == [("ps", 2), ("worker", 2)]


def test_an_unknown_name_is_reported_with_the_nearest():
    reported = faults({**FLOWERS, "preset": "resnet_v1_51"})

    assert reported == {
        "preset": "there is no preset model named 'resnet_v1_51'. Did you mean 'resnet_v1_50'?"
    }
    assert "xception_71" in faults({**FLOWERS, "preset": "help"})["preset"]


def test_a_network_that_is_not_built_is_refused():
    with pytest.raises(Unsupported, match=r"pvanet is not available: .* is published, but"):
        dls.read({**FLOWERS, "preset": "pvanet"})


def test_all_faults_of_preset_job_are_reported_together():
    reported = faults(
        {"preset": "lenet", "code_dir": "s3://b/c", "boot_file": "a.py", "epochs": 3,
         "parameters": {"run_mode": "eval", "batch_size": "many", "data_url": "s3://b/d"}}
    )  # fmt: skip

    assert reported.keys() == {
        "code_dir", "boot_file", "epochs", "data_url", "train_url", "checkpoint_url",
        "parameters.batch_size", "parameters.data_url",
    }  # fmt: skip
    assert reported["boot_file"] == "comes with the preset model; leave it out."
    assert reported["checkpoint_url"] == "is required by an evaluation: the model to evaluate."
