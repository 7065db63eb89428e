import json
from dataclasses import replace

import pytest

from contracts.dialect import DialectContract
from danlu.dialects import kdl
from danlu.errors import InvalidJob, Unsupported
from danlu.job.plan import Install, Place

REQUEST = {"code": "ks3://bucket/trainer-1.0.tar.gz", "module": "trainer.task"}


class TestKdl(DialectContract):
    @pytest.fixture
    def dialect(self):
        return kdl

    @pytest.fixture
    def request_of(self):
        return REQUEST


def command(request, **place):
    spec = kdl.read(request)
    return kdl.command(spec, Place("master", 0, job_id="j1", **place))


def test_module_runs_in_directory_of_its_package():
    reported = command(REQUEST)

    assert (reported.run, reported.module) == ("trainer.task", True)
    assert reported.cwd == "/home/kdl/job"
    assert reported.sys_path == ("/home/kdl/job",)
    assert reported.fetch[0].archive


def test_single_folder_in_source_distribution_is_package():
    spec = kdl.read(REQUEST)
    settled = {**spec.options, "top": "trainer-1.0"}

    reported = kdl.command(type(spec)(**{**vars(spec), "options": settled}), Place("master", 0))

    assert spec.options["top"] == "auto"
    assert reported.cwd == "/home/kdl/job/trainer-1.0"
    assert [item.path for item in reported.install] == [
        *("/home/kdl/job/trainer-1.0", "/home/kdl/job/trainer-1.0/trainer")
    ]
    assert reported.fetch[0].to == "/home/kdl/job"


def test_the_package_is_installed_with_what_it_requires():
    assert command(REQUEST).install == (
        Install("/home/kdl/job", package=True, optional=True),
        Install("/home/kdl/job/trainer", package=True, optional=True),
    )


def test_package_without_folder_around_it_gets_one():
    spec = kdl.read(REQUEST)
    settled = {**spec.options, "top": "", "into": "trainer"}

    reported = kdl.command(replace(spec, options=settled), Place("master", 0))

    assert reported.cwd == "/home/kdl/job"
    assert reported.fetch[0].to == "/home/kdl/job/trainer"


@pytest.mark.parametrize("module", ["task", "train.2-input", "train.my model", "1x", "训练.任务"])
def test_any_module_that_python_can_run(module):
    assert kdl.read({**REQUEST, "module": module}).entry == module


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("--max_epochs 100 --model_path ks3://b/m", ("--max_epochs", "100", "--model_path", "ks3://b/m")),
        ("--max_epochs=100", ("--max_epochs=100",)),
        ("--name 'a b' --note=\"c d\" --empty ''", ("--name", "a b", "--note=c d", "--empty", "")),
        ("", ()),
    ],
)  # fmt: skip
def test_job_args_are_split_as_by_shell(text, words):
    assert command({**REQUEST, "job_args": text}).args == words


def test_job_args_that_cannot_be_split_are_refused():
    with pytest.raises(InvalidJob, match=r"job_args: cannot be split into words"):
        kdl.read({**REQUEST, "job_args": "--name 'a b"})


def test_nothing_of_shell_is_done_with_job_args():
    assert command({**REQUEST, "job_args": "--x $(id) ; rm *"}).args == (
        "--x", "$(id)", ";", "rm", "*",
    )  # fmt: skip


def test_form_rows_are_words_without_empty_ones():
    rows = {"lr": 0.01, "note": "", "flag": "true", "name": "a b"}

    assert command({**REQUEST, "parameters": rows}).args == (
        "--lr=0.01", "--flag=true", "--name=a b",
    )  # fmt: skip


def test_row_comes_after_common_arguments_and_so_wins():
    rows = {"output_path": "ks3://b/1"}

    reported = command({**REQUEST, "job_args": "--output_path ks3://b/out", "parameters": rows})

    assert reported.args == ("--output_path", "ks3://b/out", "--output_path=ks3://b/1")


def test_urls_of_the_store_pass_through_unchanged():
    reported = command({**REQUEST, "parameters": {"checkpoint_path": "ks3://bucket//a/../b"}})

    assert reported.args == ("--checkpoint_path=ks3://bucket//a/../b",)
    assert [fetch.what for fetch in reported.fetch] == ["code"]
    assert reported.push == ()


def test_names_of_services_own_json_are_understood():
    spec = kdl.read(
        {
            "raw_job_name": "linear_1",
            "module_name": "trainer.task",
            "trainer_uri": "ks3://bucket/trainer-1.0.tar.gz",
            "job_args": "--max_epochs 100",
            "flavor_id": "cpu.basic",
            "prepare_command": "pip list",
            "finish_command": "echo done",
            "cpu_limit": 2,
            "memory_limit": "2G",
            "gpu_limit": 0,
            "worker_count": 2,
            "ps_count": 1,
        }
    )

    assert (spec.name, spec.entry) == ("linear_1", "trainer.task")
    assert spec.resources.flavor == "cpu.basic"
    assert (spec.resources.cpus, spec.resources.memory) == (2, 2 << 30)
    assert [(r.name, r.count) for r in kdl.roles(spec)] == [("ps", 1), ("worker", 2), ("master", 1)]


def test_field_is_reported_with_its_written_name():
    with pytest.raises(InvalidJob) as caught:
        kdl.read({"trainer_uri": "here", "module_name": "trainer/task.py", "module": "x"})

    assert set(caught.value.faults) >= {
        ("module_name", "is already given as module."),
        ("trainer_uri", "must be a URI such as obs://bucket/path, got 'here'."),
    }


@pytest.mark.parametrize("name", ["trainer/task.py", "./trainer/task.py", "trainer/task"])
def test_file_for_module_is_shown_its_dotted_name(name):
    with pytest.raises(InvalidJob, match=r"must be a dotted name such as 'trainer\.task'"):
        kdl.read({**REQUEST, "module": name})


@pytest.mark.parametrize("name", ["", "trainer..task", ".task", "task.", "--x"])
def test_what_is_no_module_is_refused(name):
    with pytest.raises(InvalidJob, match="module: must be"):
        kdl.read({**REQUEST, "module": name})


def test_commands_before_and_after_are_the_users_own():
    reported = command({**REQUEST, "prepare_command": "pip install x", "finish_command": "rm -r t"})

    assert (reported.before, reported.after) == ("pip install x", "rm -r t")


@pytest.mark.parametrize("field", ["ks3_encryption_key", "tensorboard_name", "logdir"])
def test_missing_promised_feature_is_reported(field):
    with pytest.raises(Unsupported, match=f"{field}: .* is not supported"):
        kdl.read({**REQUEST, field: "0123456789abcdef"})


def test_what_is_not_there_may_be_turned_off():
    kdl.read({**REQUEST, "create_tensorboard": False, "tensorboard_name": ""})

    with pytest.raises(Unsupported, match="create_tensorboard: a TensorBoard"):
        kdl.read({**REQUEST, "create_tensorboard": True})


def test_a_job_of_one_task_has_no_cluster():
    assert "TF_CONFIG" not in command(REQUEST).env
    assert "TF_CONFIG" not in command(REQUEST, peers={"master": ("h:1",)}).env


def test_several_tasks_learn_their_part_from_tf_config():
    spec = kdl.read({**REQUEST, "worker_count": 2, "ps_count": 1})
    peers = {"ps": ("h:3001",), "worker": ("h:3002", "h:3003"), "master": ("h:3004",)}

    env = kdl.command(spec, Place("worker", 1, peers=peers)).env

    assert json.loads(env["TF_CONFIG"]) == {
        "cluster": {"ps": ["h:3001"], "worker": ["h:3002", "h:3003"], "master": ["h:3004"]},
        "task": {"type": "worker", "index": 1},
    }


def test_the_master_decides():
    spec = kdl.read({**REQUEST, "worker_count": 2, "ps_count": 1})

    assert {r.name: r.decides for r in kdl.roles(spec)} == {
        "ps": False, "worker": False, "master": True,
    }  # fmt: skip


def test_nodes_are_counted_by_role():
    with pytest.raises(InvalidJob, match="worker_count and ps_count"):
        kdl.read({**REQUEST, "nodes": 2})
