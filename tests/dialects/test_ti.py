import json

import pytest

from contracts.dialect import DialectContract
from danlu.dialects import ti
from danlu.errors import InvalidJob, Unsupported
from danlu.job.plan import Place

REQUEST = {"code": "cos://bucket/gpu/code", "entry_point": "train.py"}
TRAIN = {
    **REQUEST,
    "name": "mnist",
    "channels": {"train": "cos://bucket/train", "Test-1": "cos://bucket/test"},
    "output_path": "cos://bucket/out",
}
PEERS = {"ps": ("10.0.0.1:5556",), "worker": ("10.0.0.1:5555", "10.0.0.2:5555", "10.0.0.3:5555")}
PS = {"distributions": {"parameter_server": {"enabled": True}}}


class TestTi(DialectContract):
    @pytest.fixture
    def dialect(self):
        return ti

    @pytest.fixture
    def request_of(self):
        return REQUEST


def command(request, role="worker", index=0, **place):
    return ti.command(ti.read(request), Place(role, index, **place))


def environment_of(request, name, **place):
    return json.loads(command(request, **place).env[name])


def file_of(request, name):
    return json.loads(command(request).files[f"/opt/ml/input/config/{name}"])


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (100, ["100"]),
        (1e-4, ["0.0001"]),
        (True, ["True"]),
        (None, ["None"]),
        ("", []),
        ("  ", []),
        ([1, "x"], ["[1, 'x']"]),
        ({"k": 1}, ["{'k': 1}"]),
        ("a b", ["a b"]),
        ("007", ["007"]),
        ("1", ["1"]),
        ("true", ["true"]),
    ],
)
def test_hyperparameter_is_two_words_as_python_shows_it(value, words):
    assert command({**REQUEST, "hyperparameters": {"k": value}}).args == ("--k", *words)


def test_hyperparameters_keep_their_order_and_their_names():
    request = {**REQUEST, "hyperparameters": {"z": 1, "batch-size": 2, "a": 3, "lr.decay": 4}}

    words = ("--z", "1", "--batch-size", "2", "--a", "3", "--lr.decay", "4")
    assert command(request).args == words


def test_reserved_names_reach_file_and_not_script():
    request = {**REQUEST, "hyperparameters": {"ti_mine": 1, "lr": 0.1}}

    assert command(request).args == ("--lr", "0.1")
    assert environment_of(request, "TM_HPS") == {"lr": 0.1}
    assert file_of(request, "hyperparameters.json")["ti_mine"] == "1"


def test_the_file_of_hyperparameters_holds_json_texts():
    request = {**TRAIN, "hyperparameters": {"lr": 0.1, "name": "x", "flag": True}}
    file = file_of(request, "hyperparameters.json")

    assert [file[name] for name in ("lr", "name", "flag")] == ["0.1", '"x"', "true"]
    assert file["ti_program"] == '"train.py"'
    assert file["ti_job_name"] == '"mnist"'
    assert file["ti_container_log_level"] == "20"


def test_config_files_list_channels_and_hosts():
    assert file_of(TRAIN, "inputdataconfig.json") == {
        "train": {"TrainingInputMode": "File"},
        "Test-1": {"TrainingInputMode": "File"},
    }
    resources = file_of(TRAIN, "resourceconfig.json")
    assert (resources["current_host"], resources["hosts"]) == ("algo-1", ["algo-1"])


def test_hyperparameters_keep_their_types_in_the_environment():
    request = {**REQUEST, "hyperparameters": {"lr": 0.1, "deep": {"b": None, "a": [1]}, "s": "1"}}
    env = command(request).env

    assert json.loads(env["TM_HPS"]) == request["hyperparameters"]
    assert (env["TM_HP_LR"], env["TM_HP_S"]) == ("0.1", "1")
    assert json.loads(env["TM_HP_DEEP"]) == {"b": None, "a": [1]}
    assert env["SM_HP_DEEP"] == '{"a":[1],"b":null}'
    assert json.loads(env["TM_USER_ARGS"]) == list(command(request).args)


def test_parameters_come_on_top_of_hyperparameters():
    request = {**REQUEST, "hyperparameters": {"lr": 0.1, "n": 1}, "parameters": {"lr": 0.2}}

    assert command(request).args == ("--lr", "0.2", "--n", "1")


@pytest.mark.parametrize("name", ["a b", "", "a=b", "a\nb"])
def test_a_hyperparameter_without_a_proper_name_is_refused(name):
    with pytest.raises(InvalidJob, match="is not a name"):
        ti.read({**REQUEST, "hyperparameters": {name: 1}})


def test_channels_are_directories_of_their_names():
    found = command(TRAIN)

    assert {item.what: item.to for item in found.fetch} == {
        "code": "/opt/ml/code",
        "train": "/opt/ml/input/data/train",
        "Test-1": "/opt/ml/input/data/Test-1",
    }
    assert found.env["TM_CHANNEL_TRAIN"] == found.env["SM_CHANNEL_TRAIN"]
    assert found.env["TM_CHANNEL_TEST-1"] == "/opt/ml/input/data/Test-1"
    assert json.loads(found.env["TM_CHANNELS"]) == ["train", "Test-1"]


def test_one_channel_without_a_name_is_training():
    found = command({**REQUEST, "inputs": "cos://bucket/data"})

    assert found.env["TM_CHANNEL_TRAINING"] == "/opt/ml/input/data/training"
    assert command(REQUEST).env["TM_CHANNELS"] == "[]"


def test_the_code_is_where_the_script_starts():
    found = command({**REQUEST, "entry_point": "src/train.py"})

    assert (found.run, found.cwd) == ("/opt/ml/code/src/train.py", "/opt/ml/code")
    assert found.sys_path == ("/opt/ml/code",)
    assert found.env["TM_USER_ENTRY_POINT"] == "src/train.py"


@pytest.mark.parametrize("entry", ["run.sh", "../train.py", "/train.py", "cos://other/train.py"])
def test_entry_point_is_python_file_of_source_directory(entry):
    with pytest.raises(InvalidJob, match="entry_point: "):
        ti.read({**REQUEST, "entry_point": entry})


def test_outputs_are_below_the_name_of_the_job():
    assert [(item.path, item.uri, item.pack) for item in command(TRAIN).push] == [
        ("/opt/ml/model", "cos://bucket/out/mnist/output", "model.tar.gz"),
        ("/opt/ml/checkpoints", "cos://bucket/out/mnist/output/checkpoints", ""),
        ("/opt/ml/output/data", "cos://bucket/out/mnist/output/data", ""),
    ]


def test_without_output_path_there_is_bucket_of_ours():
    spec = ti.read({**REQUEST, "name": "mnist"})

    assert spec.outputs == {"output_path": "cos://danlu-ti/mnist/output"}


def test_slash_at_end_of_output_is_ignored():
    with_slash = {**TRAIN, "output_path": "cos://bucket/out/"}

    assert ti.read(with_slash).outputs == ti.read(TRAIN).outputs


def test_the_environment_is_the_services():
    found = command({**TRAIN, "env": {"MINE": "1", "TM_LOG_LEVEL": "10"}}, gpus=("0", "1"), cpus=4)
    env = found.env

    assert env["TM_MODEL_DIR"] == env["SM_MODEL_DIR"] == "/opt/ml/model"
    assert env["TM_OUTPUT_DATA_DIR"] == "/opt/ml/output/data"
    assert env["TM_OUTPUT_DIR"] == "/opt/ml/output"
    assert env["TM_INPUT_DIR"] == "/opt/ml/input"
    assert env["TM_INPUT_CONFIG_DIR"] == "/opt/ml/input/config"
    assert env["TM_MODULE_DIR"] == "/opt/ml/code"
    assert (env["TM_NUM_GPUS"], env["TM_NUM_CPUS"]) == ("2", "4")
    assert (env["TM_HOSTS"], env["TM_CURRENT_HOST"]) == ('["algo-1"]', "algo-1")
    assert (env["MINE"], env["TM_LOG_LEVEL"]) == ("1", "10")
    assert env["TRAINING_JOB_NAME"] == "mnist"
    assert "TF_CONFIG" not in env


def test_every_variable_has_its_twin():
    env = command({**TRAIN, "hyperparameters": {"lr": 1}}).env
    names = {name[3:] for name in env if name.startswith("TM_")}

    assert names == {name[3:] for name in env if name.startswith("SM_")}
    assert json.loads(env["SM_TRAINING_ENV"])["hyperparameters"] == {"lr": 1}
    assert json.loads(env["TM_TRAINING_ENV"])["channel_input_dirs"]["train"]


def test_every_instance_runs_script_with_its_own_name():
    request = {**TRAIN, "train_instance_count": 3}
    peers = {"worker": PEERS["worker"]}

    assert [(role.name, role.count) for role in ti.roles(ti.read(request))] == [("worker", 3)]
    env = command(request, index=2, peers=peers).env
    assert (env["TM_CURRENT_HOST"], env["TM_HOSTS"]) == ("algo-3", '["algo-1", "algo-2", "algo-3"]')
    assert "TF_CONFIG" not in env


@pytest.mark.parametrize(
    ("workers", "leads_to"),
    [
        (("10.0.0.5:20001", "10.0.0.6:20001"), {"algo-1": "10.0.0.5", "algo-2": "10.0.0.6"}),
        (("[fd00::5]:20001", "h2:20001"), {"algo-1": "fd00::5", "algo-2": "h2"}),
        (
            ("127.0.0.1:20001", "127.0.0.1:20002"),
            {"algo-1": "127.78.33.1", "algo-2": "127.78.34.1"},
        ),
        ((), {"algo-1": "127.0.0.1"}),
    ],
)
def test_the_names_of_hosts_lead_to_them(workers, leads_to):
    request = {**TRAIN, "nodes": len(workers) or 1}

    assert command(request, peers={"worker": workers} if workers else {}).hosts == leads_to


def test_only_the_first_instance_keeps_a_model():
    request = {**TRAIN, "nodes": 2}

    assert [item.uri for item in command(request, index=1).push] == [
        "cos://bucket/out/mnist/output/algo-2/checkpoints",
        "cos://bucket/out/mnist/output/algo-2/data",
    ]


@pytest.mark.parametrize(
    ("index", "task"),
    [(0, {"type": "master", "index": 0}), (2, {"type": "worker", "index": 1})],
)
def test_parameter_server_is_in_config_of_all_tasks(index, task):
    config = environment_of({**TRAIN, **PS, "nodes": 3}, "TF_CONFIG", index=index, peers=PEERS)

    assert config == {
        "cluster": {
            "master": ["10.0.0.1:5555"],
            "ps": ["10.0.0.1:5556"],
            "worker": ["10.0.0.2:5555", "10.0.0.3:5555"],
        },
        "environment": "cloud",
        "task": task,
    }


def test_the_script_is_never_started_as_parameter_server():
    request = {**TRAIN, **PS, "nodes": 3}
    found = command(request, "ps", peers=PEERS, decides=False)

    assert [(role.name, role.count, role.decides) for role in ti.roles(ti.read(request))] == [
        ("ps", 1, False),
        ("worker", 3, True),
    ]
    assert (found.run, found.module) == ("danlu_runtime.cluster", True)
    assert (found.fetch, found.push) == ((), ())


def test_one_instance_has_no_parameter_server():
    spec = ti.read({**TRAIN, **PS})

    assert [role.name for role in ti.roles(spec)] == ["worker"]
    assert "TF_CONFIG" not in ti.command(spec, Place("worker", 0)).env


def test_mpi_reports_that_it_is_not_there():
    mpi = {"mpi": {"enabled": True, "processes_per_host": 1}}

    with pytest.raises(Unsupported, match="Horovod"):
        ti.read({**TRAIN, "nodes": 2, "distributions": mpi})
    assert ti.read({**TRAIN, "distributions": {"mpi": {"enabled": False}}})


@pytest.mark.parametrize(
    "distributions",
    [
        {"ring": {"enabled": True}},
        {"mpi": True},
        {"parameter_server": {}},
        {"mpi": {"enabled": True}, "parameter_server": {"enabled": True}},
    ],
)
def test_a_distribution_that_makes_no_sense_is_refused(distributions):
    with pytest.raises(InvalidJob, match="distributions"):
        ti.read({**TRAIN, "distributions": distributions})


def test_the_names_of_the_sdk_are_understood():
    spec = ti.read(
        {
            "source_dir": "cos://b00/code",
            "entry_point": "train.py",
            "job_name": "mine",
            "train_instance_type": "ML.GN8.3XLARGE112",
            "train_instance_count": 2,
            "train_max_run": 60,
            "envs": {"A": "1"},
            "framework_version": "1.14",
            "py_version": "py3",
        }
    )

    assert (spec.name, spec.timeout, spec.env) == ("mine", 60, {"A": "1"})
    assert (spec.resources.flavor, spec.resources.nodes) == ("ML.GN8.3XLARGE112", 2)
    assert spec.tensorflow == "1.14.0"


def test_script_for_python_2_was_written_for_tf1():
    assert ti.read({**REQUEST, "py_version": "py2"}).tensorflow == "1.15.5"
    assert ti.read({**REQUEST, "py_version": "py3"}).tensorflow == "auto"
    given = {"py_version": "py27", "framework_version": "2.0.0"}
    assert ti.read({**REQUEST, **given}).tensorflow == "2.0.0"
    with pytest.raises(InvalidJob, match="py_version: must be 'py3' or 'py2', got 'py4'"):
        ti.read({**REQUEST, "py_version": "py4"})


def test_all_faults_of_request_are_reported_at_once():
    with pytest.raises(InvalidJob) as caught:
        ti.read({"entry_point": "", "inputs": "here", "hyperparameter": {}, "output_path": "x"})

    assert [field for field, _ in caught.value.faults] == [
        *("code", "output_path", "entry_point", "inputs.training", "hyperparameter"),
    ]


def test_framework_and_log_level_are_passed():
    found = command({**TRAIN, "framework": "pytorch", "container_log_level": 10})

    assert found.env["TI_TRAINING_FRAMEWORK"] == "pytorch"
    assert found.env["TM_LOG_LEVEL"] == found.env["SM_LOG_LEVEL"] == "10"
    assert found.env["SM_FRAMEWORK_MODULE"] == "pytorch:main"
    assert command(TRAIN).env["TI_TRAINING_FRAMEWORK"] == "tensorflow"
    config = json.loads(found.files["/opt/ml/input/config/hyperparameters.json"])
    assert config["ti_container_log_level"] == "10"


def test_a_channel_the_client_has_sent_is_unpacked():
    sent = f"danlu://code/{'0' * 64}.tar.gz"
    channels = {"train": sent, "test": "cos://bucket/test.tar.gz"}
    found = command({**REQUEST, "channels": channels})

    assert {item.what: item.archive for item in found.fetch} == {
        "code": False,
        "train": True,
        "test": False,
    }


def test_instance_type_is_passed():
    env = command({**TRAIN, "train_instance_type": "TI.SMALL2.1core2g"}).env

    assert env["TM_CURRENT_INSTANCE_TYPE"] == "TI.SMALL2.1core2g"
    assert command(TRAIN).env["SM_CURRENT_INSTANCE_TYPE"] == "local"
