"""``{name}`` and ``{id}`` in the outputs of a job."""

import pytest

from danlu.errors import InvalidJob

REQUESTS = {
    "modelarts": {"boot_file": "train.py", "train_url": "obs://b-1/runs/{name}/log"},
    "dls": {"boot_file": "train.py", "train_url": "s3://b-1/runs/{name}/log"},
    "ti": {"entry_point": "train.py", "output_path": "cos://b-1/runs/{name}"},
    "modelmaker": {"model_file": "train.py", "outputs": {"model": "obs://b-1/runs/{name}/log"}},
}


@pytest.mark.parametrize("dialect", REQUESTS)
def test_name_of_job_is_put_into_its_outputs(platform, dialect):
    request = {"dialect": dialect, "code": "obs://bucket/code", **REQUESTS[dialect]}

    jobs = [platform.service.submit(request) for _ in range(2)]

    for job in jobs:
        (uri,) = job.spec.outputs.values()
        assert uri.partition("://")[2].startswith(f"b-1/runs/{job.name}")
    assert jobs[0].spec.outputs != jobs[1].spec.outputs


def test_preset_model_has_folder_of_its_own_too(platform):
    platform.put("obs://bucket/flowers/a/1.jpg")
    request = {"dialect": "dls", "preset": "resnet_v1_50", "data_url": "obs://bucket/flowers"}

    job = platform.service.submit({**request, "train_url": "obs://bucket/{name}"})

    assert job.spec.outputs == {"train_url": f"obs://bucket/{job.name}"}


def test_the_id_and_every_output_are_filled_in(platform, request_of):
    outputs = {"log": "obs://bucket/{id}/log", "model": "file:///tmp/{name}/{id}"}

    job = platform.service.submit({**request_of, "name": "mnist", "outputs": outputs})

    assert job.spec.outputs == {
        "log": f"obs://bucket/{job.id}/log",
        "model": f"file:///tmp/mnist/{job.id}",
    }
    assert job.request["outputs"] == outputs  # a rerun has its own folder again


def test_a_dry_run_shows_the_folder(platform, request_of):
    request = {**request_of, "name": "mnist", "train_url": "obs://bucket/{name}"}

    assert platform.service.plan(request).tasks[0].command.push[0].uri == "obs://bucket/mnist"


def test_unknown_placeholder_is_refused_with_those_there_are(platform, request_of):
    with pytest.raises(InvalidJob) as caught:
        platform.service.submit({**request_of, "train_url": "obs://bucket/{date}"})

    reported = dict(caught.value.faults)["train_url"]
    assert reported.startswith("there is no placeholder {date} for 'obs://bucket/{date}'; ")
    assert "placeholders: {name}, {id}" in reported


@pytest.mark.parametrize("key", ["{}", "{1}", "{a b}", "{name", "a{b/c}"])
def test_other_braces_are_kept(platform, request_of, key):
    job = platform.service.submit({**request_of, "train_url": f"obs://bucket/out/{key}"})

    assert job.spec.outputs == {"train_url": f"obs://bucket/out/{key}"}


def test_brace_that_is_written_as_code_is_kept(platform, request_of, tmp_path):
    uri = f"file://{tmp_path}/%7Bname%7D"

    assert (
        platform.service.submit({**request_of, "train_url": uri}).spec.outputs["train_url"] == uri
    )


def test_inputs_have_no_placeholders(platform, request_of):
    platform.put("obs://bucket/{name}/a.csv")

    job = platform.service.submit({**request_of, "data_url": "obs://bucket/{name}"})

    assert job.spec.inputs == {"data_url": "obs://bucket/{name}"}


def test_urls_among_arguments_have_placeholders(platform, request_of):
    url = "obs://bucket/{name}/w.{epoch}.h5"

    job = platform.service.submit({**request_of, "parameters": {"out": url, "text": "{name}"}})

    assert dict(job.spec.params) == {
        "out": f"obs://bucket/{job.name}/w.{{epoch}}.h5",
        "text": "{name}",
    }
