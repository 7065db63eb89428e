"""Algorithms and data sets, and what becomes of a request that names one."""

import json

import pytest

from danlu.errors import InvalidJob, NotFound
from danlu.job.versions import ALGORITHM, DATASET

MNIST = {
    "code": "obs://bucket/code",
    "boot_file": "train.py",
    "inputs": [{"name": "data_url", "description": "the digits"}],
    "outputs": [{"name": "train_url", "required": False}],
    "parameters": [
        {"name": "steps", "constraint": {"type": "Integer", "default": 100, "editable": False}},
        {
            "name": "lr",
            "constraint": {
                "type": "Float",
                "default": "1e-3",
                "valid_type": "range",
                "valid_range": [0, 1],
            },
        },
        {
            "name": "optimizer",
            "constraint": {
                "required": True,
                "valid_type": "choice",
                "valid_range": ["sgd", "adam"],
            },
        },
        {"name": "note"},
    ],
}
REQUEST = {
    "algorithm": "mnist",
    "data_url": "obs://bucket/data",
    "parameters": {"optimizer": "sgd"},
}


def create(platform, name="mnist", **changes):
    return platform.service.definitions.create_algorithm(name, {**MNIST, **changes})


def register(platform, name="digits", uri="obs://bucket/data", **more):
    return platform.service.definitions.create_dataset(name, {"uri": uri, **more})


def faults(act, *args):
    with pytest.raises(InvalidJob) as caught:
        act(*args)
    return dict(caught.value.faults)


def test_an_algorithm_is_kept_in_versions(platform):
    first = create(platform)
    second = create(platform, description="better")

    definitions = platform.service.definitions
    assert (first.version, second.version) == (1, 2)
    assert definitions.algorithm("mnist") == second
    assert definitions.algorithm("mnist", 1) == first
    assert definitions.algorithms() == [second]
    assert definitions.versions(ALGORITHM, "mnist") == [2, 1]


def test_the_same_algorithm_again_is_the_same_version(platform):
    assert create(platform) == create(platform)


def test_all_faults_of_algorithm_are_reported_at_once(platform):
    reported = faults(
        lambda: create(
            platform,
            name="a b",
            boot_file="tarin.py",
            descripton="x",
            inputs=[{"name": "data url"}, {"name": "x", "access_method": "pigeon"}],
            outputs=[{"name": "x"}],
            parameters=[
                {"name": "a", "constraint": {"type": "Int"}},
                {"name": "b", "constraint": {"type": "Integer", "default": "x"}},
                {"name": "c", "constraint": {"valid_type": "range", "valid_range": [1, 2]}},
                {"name": "d", "constraint": {"editable": False, "required": "yes"}},
                {
                    "name": "e",
                    "constraint": {
                        "type": "Float",
                        "valid_type": "range",
                        "valid_range": ["2", "1"],
                    },
                },
                {"name": "f", "constraint": {"valid_range": ["x"]}},
                {"name": "g", "constraint": {"valid_type": "choice"}},
                {"constraint": {}},
                {"name": "h", "constraint": 3},
                {"name": "i", "default": 3},
                {"name": "j", "constraint": {"default": [], "valid_range": 3}},
            ],
        )
    )

    assert set(reported) == {
        "name",
        "boot_file",
        "descripton",
        "inputs[0].name",
        "inputs[1].access_method",
        "outputs[0].name",
        "parameters[0].constraint.type",
        "parameters[1].constraint.default",
        "parameters[2].constraint.valid_range",
        "parameters[3].constraint.default",
        "parameters[3].constraint.required",
        "parameters[4].constraint.valid_range",
        "parameters[5].constraint.valid_range",
        "parameters[6].constraint.valid_range",
        "parameters[7].name",
        "parameters[8].constraint",
        "parameters[9].default",
        "parameters[10].constraint.default",
        "parameters[10].constraint.valid_range",
    }
    assert reported["descripton"] == "is not a field. Did you mean 'description'?"
    assert reported["outputs[0].name"] == "'x' is already the name of inputs[1]."
    assert platform.service.definitions.algorithms() == []


@pytest.mark.parametrize("field", ["inputs", "outputs", "parameters"])
@pytest.mark.parametrize("value", [3, "x", [3], {"a": 1}])
def test_a_list_of_tables_must_be_one(platform, field, value):
    assert set(faults(lambda: create(platform, **{field: value}))) == {field}


def test_code_that_is_not_there_is_reported(platform):
    reported = faults(lambda: create(platform, code="obs://bucket/nothing"))

    assert reported == {"code": "there is nothing at 'obs://bucket/nothing'."}


def test_job_made_from_algorithm_is_filled_in(platform):
    create(platform, flavor="modelarts.vm.cpu.2u")

    job = platform.service.submit(REQUEST)

    assert job.spec.dialect == "modelarts"
    assert (job.spec.code, job.spec.entry) == ("obs://bucket/code", "train.py")
    assert job.spec.params == (("steps", "100"), ("lr", "1e-3"), ("optimizer", "sgd"))
    assert job.spec.resources.flavor == "modelarts.vm.cpu.2u"
    assert job.algorithm == platform.service.definitions.algorithm("mnist")
    assert job.request == REQUEST


def test_a_version_can_be_asked_for(platform):
    create(platform)
    create(platform, parameters=[])

    job = platform.service.submit({**REQUEST, "algorithm": "mnist:1"})

    assert job.algorithm.version == 1
    assert dict(job.spec.params)["steps"] == "100"


def test_what_a_job_gives_wins_over_defaults(platform):
    create(platform, flavor="modelarts.vm.cpu.8u")
    given = {"optimizer": "adam", "lr": 0.5, "extra": True, "note": ""}

    job = platform.service.submit({**REQUEST, "parameters": given, "flavor": "modelarts.vm.cpu.2u"})

    assert job.spec.params == (
        ("steps", "100"), ("lr", "0.5"), ("optimizer", "adam"), ("note", ""), ("extra", "true"),
    )  # fmt: skip
    assert job.spec.resources.flavor == "modelarts.vm.cpu.2u"


def test_constraints_are_checked_with_other_faults(platform):
    create(platform, parameters_customization=False)
    request = {
        "algorithm": "mnist",
        "boot_file": "other.py",
        "inputs": {"images": "obs://bucket/data"},
        "outputs": {"model": "obs://bucket/out"},
        "parameters": {"steps": 5, "lr": "2", "ltr": 1},
        "nodes": 0,
        "nodess": 2,
    }

    reported = faults(platform.service.submit, request)

    title = "algorithm 'mnist:1'"
    assert reported == {
        "boot_file": f"comes from {title}; leave it out.",
        "data_url": f"is required by {title}: the digits.",
        "inputs.images": f"{title} has none of this name. Known: data_url.",
        "outputs.model": f"{title} has none of this name. Known: train_url.",
        "parameters.steps": f"{title} has it fixed at '100', got 5.",
        "parameters.lr": f"must be a number from 0 to 1 for {title}, got '2'.",
        "parameters.optimizer": f"is required by {title}: one of 'sgd', 'adam'.",
        "parameters.ltr": f"{title} accepts no other parameters. Did you mean 'lr'?",
        "nodes": "must be a whole number of at least 1, got 0.",
        "nodess": "is not a field. Did you mean 'nodes'?",
    }


def test_fixed_parameter_may_be_given_as_it_is(platform):
    create(platform)

    job = platform.service.submit({**REQUEST, "parameters": {"optimizer": "sgd", "steps": 100}})

    assert dict(job.spec.params)["steps"] == "100"


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ("mnits", "There is no algorithm named 'mnits'. Did you mean 'mnist'?"),
        ("mnist:7", "There is no algorithm named 'mnist:7'. Its versions: 1."),
        ("a b", "'a b' is not NAME or NAME:VERSION. Write for example: mnist or mnist:2"),
        (3, "must be NAME or NAME:VERSION, got 3."),
    ],
)
def test_algorithm_that_is_not_there_is_only_fault(platform, asked, sentence):
    create(platform)

    assert faults(platform.service.submit, {**REQUEST, "algorithm": asked}) == {
        "algorithm": sentence
    }


def test_a_misspelt_algorithm_is_offered_the_field(platform):
    reported = faults(platform.service.submit, {"algoritm": "mnist"})

    assert reported["algoritm"] == "is not a field. Did you mean 'algorithm'?"


def test_algorithm_of_one_service_is_not_for_another(platform):
    create(platform)

    assert "dialect" in faults(platform.service.submit, {**REQUEST, "dialect": "dls"})


@pytest.mark.parametrize("parameters", [3, [], {"optimizer": []}, {"optimizer": None}])
def test_parameters_that_are_none_are_reported_once(platform, parameters):
    create(platform)

    reported = faults(platform.service.submit, {**REQUEST, "parameters": parameters})

    assert len(reported) == 1


def test_an_algorithm_without_channels_takes_any(platform):
    create(platform, inputs=[], outputs=[])

    job = platform.service.submit({**REQUEST, "inputs": {"more": "obs://bucket/data"}})

    assert set(job.spec.inputs) == {"data_url", "more"}


def test_a_channel_can_be_declared_for_the_environment(platform):
    create(platform, inputs=[{"name": "data_url", "access_method": "env"}])

    (task,) = platform.service.plan(REQUEST).tasks

    assert task.command.env["data_url"].endswith("/inputs/data_url_0/")
    assert not any(word.startswith("--data_url") for word in task.command.args)


def test_job_keeps_its_copy_when_algorithm_is_gone(platform):
    create(platform)
    job = platform.service.submit(REQUEST)
    platform.service.definitions.remove(ALGORITHM, "mnist")

    again = platform.service.rerun(job.id, {"lr": "0.5"})

    assert again.algorithm == job.algorithm
    assert dict(again.spec.params)["lr"] == "0.5"
    assert again.parent == job.id
    reported = faults(platform.service.rerun, job.id, {"steps": "5"})
    assert "fixed at '100'" in reported["parameters.steps"]


def test_a_rerun_means_the_version_its_job_used(platform):
    create(platform)
    job = platform.service.submit(REQUEST)
    create(platform, parameters=[])

    assert platform.service.rerun(job.id, {}).algorithm.version == 1


def test_a_removed_algorithm_is_not_found(platform):
    create(platform)
    platform.service.definitions.remove(ALGORITHM, "mnist", 1)

    with pytest.raises(NotFound):
        platform.service.definitions.algorithm("mnist")


def test_a_data_set_knows_what_lay_there(platform):
    platform.put("obs://bucket/data/b.csv", b"yy")

    dataset = register(platform, description="digits of 2019")

    assert (dataset.version, dataset.uri) == (1, "obs://bucket/data")
    assert (dataset.contents.files, dataset.contents.size) == (2, 3)
    assert platform.service.definitions.datasets() == [dataset]


def test_unchanged_data_set_keeps_its_version(platform):
    first = register(platform)
    assert register(platform) == first

    platform.put("obs://bucket/data/b.csv")

    assert register(platform).version == 2
    assert platform.service.definitions.versions(DATASET, "digits") == [2, 1]


def test_all_faults_of_data_set_are_reported_together(platform):
    reported = faults(lambda: register(platform, "a b", "obs://bucket/nothing", sise=3))

    assert set(reported) == {"name", "uri", "sise"}
    assert faults(lambda: register(platform, uri="nothing"))["uri"] == "'nothing' is not a URI."
    assert "uri" in faults(lambda: register(platform, uri=3))


@pytest.mark.parametrize("asked", ["dataset://digits", "dataset://digits:1"])
def test_data_set_as_input_is_its_location(platform, request_of, asked):
    dataset = register(platform)

    job = platform.service.submit(
        {**request_of, "data_url": asked, "inputs": {"more": "dataset://digits"}}
    )

    assert job.spec.inputs == {"data_url": "obs://bucket/data", "more": "obs://bucket/data"}
    assert job.datasets[asked] == dataset
    assert job.notes == ()


@pytest.mark.parametrize(
    ("service", "inputs"),
    [
        ({"dialect": "ti", "entry_point": "train.py"}, {"channels": {"channels": "DATA"}}),
        ({"dialect": "ti", "entry_point": "train.py"}, {"channels": "DATA"}),
        ({"dialect": "modelmaker", "model_file": "train.py"}, {"data": "DATA"}),
        ({"dialect": "dls", "boot_file": "train.py"}, {"data_url": "DATA"}),
        ({"dialect": "modelarts", "boot_file": "train.py"}, {"inputs": {"inputs": "DATA"}}),
    ],
    ids=str,
)
def test_every_service_reads_data_sets(platform, service, inputs):
    register(platform)
    named = json.loads(json.dumps(inputs).replace("DATA", "dataset://digits"))

    planned = platform.service.plan({"code": "obs://bucket/code", **service, **named})

    assert list(planned.job.spec.inputs.values()) == ["obs://bucket/data"]


def test_a_data_set_that_has_changed_is_reported(platform, request_of):
    register(platform)
    platform.put("obs://bucket/data/b.csv", b"yy")

    job = platform.service.submit({**request_of, "data_url": "dataset://digits"})

    assert job.notes == (
        "data_url: data set digits:1 has changed since that version was made "
        "(1 file of 1 bytes then, 2 files of 3 bytes now).",
    )


def test_missing_data_sets_are_reported_with_other_faults(platform, request_of):
    register(platform)
    platform.put("obs://bucket/gone/a.csv")
    register(platform, "gone", "obs://bucket/gone")
    location = platform.stores.at("obs://bucket/gone/a.csv")
    location.storage.delete(location.key)

    reported = faults(
        platform.service.submit,
        {
            **request_of,
            "boot_file": "tarin.py",
            "data_url": "dataset://digist",
            "inputs": {"a": "dataset://digits:4", "b": "dataset://gone", "c": "dataset://x/y"},
            "train_url": "dataset://digits",
        },
    )

    assert reported["data_url"] == "There is no data set named 'digist'. Did you mean 'digits'?"
    assert reported["a"] == "There is no data set named 'digits:4'. Its versions: 1."
    assert reported["b"] == "there is nothing at 'obs://bucket/gone'."
    assert reported["c"].startswith("'x/y' is not NAME or NAME:VERSION.")
    assert "only read" in reported["train_url"]
    assert "boot_file" in reported


def test_rerun_reads_data_set_its_job_read(platform, request_of):
    register(platform)
    job = platform.service.submit({**request_of, "data_url": "dataset://digits"})
    platform.put("obs://bucket/new/a.csv")
    register(platform, uri="obs://bucket/new")
    platform.service.definitions.remove(DATASET, "digits", 1)

    again = platform.service.rerun(job.id, {})

    assert again.spec.inputs == {"data_url": "obs://bucket/data"}
    assert again.datasets == job.datasets
