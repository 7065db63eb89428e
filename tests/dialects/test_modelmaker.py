import json

import pytest

from contracts.dialect import DialectContract
from danlu.dialects import modelmaker
from danlu.errors import InvalidJob
from danlu.job.plan import Place

REQUEST = {"code": "obs://bucket/code", "model_file": "mnist.py"}
MNIST = {
    **REQUEST,
    "name": "mnist",
    "data": "obs://bucket/mnist",
    "parameters": {"train_max_steps": "200", "units": "128", "note": "a b", "empty": ""},
}


class TestModelMaker(DialectContract):
    @pytest.fixture
    def dialect(self):
        return modelmaker

    @pytest.fixture
    def request_of(self):
        return REQUEST

    def test_values_reach_the_script_as_they_are(self, dialect, request_of):
        """There is no command line: parameters are in a file for the driver."""
        value = "; rm -rf $(HOME) `x` 'q' \"d\" a=b --c 中文\nnext"

        assert job_of({**request_of, "parameters": {"note": value}})["parameters"] == {
            "note": value
        }


def command(request):
    return modelmaker.command(modelmaker.read(request), Place("worker", 0))


def job_of(request):
    (text,) = command(request).files.values()
    return json.loads(text)


def test_a_driver_calls_the_functions_of_the_file():
    found = command(MNIST)

    assert (found.run, found.functions) == ("/opt/modelmaker/code/mnist.py", True)
    assert found.args == ("/opt/modelmaker/job.json",)
    assert found.sys_path == (found.cwd,) == ("/opt/modelmaker/code",)


def test_requirements_beside_the_model_file_are_installed():
    found = command({**MNIST, "model_file": "models/mnist.py"})

    assert [(item.path, item.package) for item in found.install] == [
        ("/opt/modelmaker/code/pip-requirements.txt", False),
        ("/opt/modelmaker/code/requirements.txt", False),
        ("/opt/modelmaker/code/models/pip-requirements.txt", False),
        ("/opt/modelmaker/code/models/requirements.txt", False),
    ]


def test_data_and_parameters_reach_the_driver():
    assert job_of(MNIST) == {
        "path": "/opt/modelmaker/data",
        "model_dir": "/opt/modelmaker/model",
        "parameters": {"train_max_steps": 200, "units": 128, "note": "a b", "empty": ""},
    }
    assert command(MNIST).fetch[1].to == "/opt/modelmaker/data"


def test_without_data_the_path_is_an_empty_directory():
    assert "/opt/modelmaker/data" in command(REQUEST).folders


def test_model_is_stored_at_the_output_or_default():
    assert command(MNIST).push[0].uri == "obs://danlu-models/mnist"
    chosen = {**MNIST, "outputs": {"model": "obs://bucket/model"}}
    assert command(chosen).push[0].uri == "obs://bucket/model"
    with pytest.raises(InvalidJob, match=r"outputs\.logs: does not exist"):
        modelmaker.read({**MNIST, "outputs": {"logs": "obs://bucket/x"}})


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ("None", None),
        ("null", None),
        ("7", 7),
        (7, 7),
        (None, None),
    ],
)
def test_value_is_parsed_by_its_type(given, value):
    assert job_of({**REQUEST, "parameters": {"eval_steps": given}})["parameters"] == {
        "eval_steps": value
    }


@pytest.mark.parametrize(
    ("given", "value"),
    [("True", True), ("false", False), ("None", None), ("[8, 4]", [8, 4]), ("relu", "relu")],
)
def test_parameter_is_parsed_as_python_or_json(given, value):
    assert job_of({**REQUEST, "parameters": {"mine": given}})["parameters"] == {"mine": value}


def test_each_wrong_value_has_its_sentence():
    wrong = {
        "save_checkpoints_steps": 10,
        "save_checkpoints_secs": 60,
        "keep_checkpoint_max": -1,
        "log_step_count_steps": "None",
        "train_max_steps": "many",
        "eval_steps": 0,
        "eval_start_delay_secs": True,
        "eval_throttle_secs": "Infinity",
    }
    with pytest.raises(InvalidJob) as caught:
        modelmaker.read({**REQUEST, "parameters": wrong})

    assert caught.value.faults == (
        (
            "parameters.keep_checkpoint_max",
            "must be a whole number of at least 0, or None (all), got -1.",
        ),
        (
            "parameters.log_step_count_steps",
            "must be a whole number of at least 1, got None.",
        ),
        (
            "parameters.train_max_steps",
            "must be a whole number of at least 1, or None (until the data ends), got 'many'.",
        ),
        (
            "parameters.eval_steps",
            "must be a whole number of at least 1, or None (all of the data), got 0.",
        ),
        ("parameters.eval_start_delay_secs", "must be a number of at least 0, got True."),
        ("parameters.eval_throttle_secs", "must be a number of at least 0, got inf."),
        (
            "parameters.save_checkpoints_secs",
            "cannot be set together with save_checkpoints_steps: leave one of them out.",
        ),
    )


PEERS = {"ps": ("a:1",), "worker": ("b:2",), "chief": ("b:3",)}
TWO = {**MNIST, "nodes": 2}


def roles(**request):
    return {role.name: role for role in modelmaker.roles(modelmaker.read({**MNIST, **request}))}


def command_of(role, index=0):
    return modelmaker.command(modelmaker.read(TWO), Place(role, index, peers=PEERS))


def test_one_node_is_one_task():
    (role,) = roles(gpus=2).values()

    assert (role.name, role.count, role.gpus) == ("worker", 1, 2)


def test_several_nodes_are_chief_workers_and_ps():
    found = roles(nodes=3, cpus=2)

    assert {name: (role.count, role.cpus) for name, role in found.items()} == {
        "ps": (1, 0),
        "worker": (2, 2),
        "chief": (1, 2),
    }
    assert [name for name, role in found.items() if role.decides] == ["chief"]


def test_each_gpu_of_a_node_has_one_task():
    found = roles(nodes=2, gpus=4, cpus=8, memory="8G")

    assert (found["chief"].count, found["worker"].count) == (1, 7)
    assert {(role.gpus, role.cpus, role.memory) for role in found.values() if role.gpus} == {
        (1, 2.0, 2 << 30)
    }


@pytest.mark.parametrize("role", ["chief", "worker", "ps"])
def test_every_task_knows_its_part_without_proxy(role):
    env = command_of(role).env

    assert json.loads(env["TF_CONFIG"]) == {
        "cluster": {"ps": ["a:1"], "worker": ["b:2"], "chief": ["b:3"]},
        "task": {"type": role, "index": 0},
    }


def test_the_model_is_the_chiefs():
    assert command_of("chief").push[0].uri == "obs://danlu-models/mnist"
    assert command_of("worker").push == command_of("ps").push == ()


def test_the_parameter_server_has_nothing_of_the_users():
    found = command_of("ps")

    assert (found.run, found.module) == ("danlu_runtime.cluster", True)
    assert not found.fetch


def test_one_node_has_no_cluster():
    assert "TF_CONFIG" not in command(MNIST).env
