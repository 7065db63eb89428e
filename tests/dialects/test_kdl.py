import json

import pytest

from danlu.dialects import kdl
from danlu.errors import InvalidJob, Unsupported
from danlu.job.plan import Install, Place
from danlu.testing.dialect import DialectContract

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


def test_a_module_runs_in_the_directory_of_its_package():
    told = command(REQUEST)

    assert (told.run, told.module) == ("trainer.task", True)
    assert told.cwd == "/home/kdl/job"
    assert told.sys_path == ("/home/kdl/job",)
    assert told.fetch[0].archive


def test_of_a_source_distribution_the_one_folder_at_its_top_is_the_package():
    spec = kdl.read(REQUEST)
    settled = {**spec.options, "top": "trainer-1.0"}

    told = kdl.command(type(spec)(**{**vars(spec), "options": settled}), Place("master", 0))

    assert spec.options["top"] == "auto"
    assert told.cwd == "/home/kdl/job/trainer-1.0"
    assert told.install == (Install("/home/kdl/job/trainer-1.0", package=True),)
    assert told.fetch[0].to == "/home/kdl/job"


def test_the_package_is_installed_with_what_it_requires():
    assert command(REQUEST).install == (Install("/home/kdl/job", package=True),)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("--max_epochs 100 --model_path ks3://b/m", ("--max_epochs", "100", "--model_path", "ks3://b/m")),
        ("--max_epochs=100", ("--max_epochs=100",)),
        ("--name 'a b' --note=\"c d\" --empty ''", ("--name", "a b", "--note=c d", "--empty", "")),
        ("", ()),
    ],
)  # fmt: skip
def test_job_args_are_split_into_words_as_a_shell_would(text, words):
    assert command({**REQUEST, "job_args": text}).args == words


def test_job_args_that_cannot_be_split_are_refused():
    with pytest.raises(InvalidJob, match=r"job_args: cannot be split into words"):
        kdl.read({**REQUEST, "job_args": "--name 'a b"})


def test_nothing_of_a_shell_is_done_with_job_args():
    assert command({**REQUEST, "job_args": "--x $(id) ; rm *"}).args == (
        "--x", "$(id)", ";", "rm", "*",
    )  # fmt: skip


def test_rows_of_the_form_are_one_word_each_and_empty_ones_are_left_out():
    rows = {"lr": 0.01, "note": "", "flag": "true", "name": "a b"}

    assert command({**REQUEST, "parameters": rows}).args == (
        "--lr=0.01", "--flag=true", "--name=a b",
    )  # fmt: skip


def test_a_row_comes_after_the_common_arguments_and_so_wins():
    rows = {"output_path": "ks3://b/1"}

    told = command({**REQUEST, "job_args": "--output_path ks3://b/out", "parameters": rows})

    assert told.args == ("--output_path", "ks3://b/out", "--output_path=ks3://b/1")


def test_urls_of_the_store_pass_through_unchanged():
    told = command({**REQUEST, "parameters": {"checkpoint_path": "ks3://bucket//a/../b"}})

    assert told.args == ("--checkpoint_path=ks3://bucket//a/../b",)
    assert [fetch.what for fetch in told.fetch] == ["code"]
    assert told.push == ()


def test_the_names_of_the_services_own_json_are_understood():
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


def test_a_field_is_told_by_the_name_it_was_written_with():
    with pytest.raises(InvalidJob) as caught:
        kdl.read({"trainer_uri": "here", "module_name": "trainer/task.py", "module": "x"})

    assert set(caught.value.faults) >= {
        ("module_name", "was given as module already."),
        ("trainer_uri", "must be a URI such as obs://bucket/path, got 'here'."),
    }


@pytest.mark.parametrize("name", ["trainer/task.py", "./trainer/task.py", "trainer/task"])
def test_a_file_for_a_module_is_shown_its_dotted_name(name):
    with pytest.raises(InvalidJob, match=r"must be a dotted name such as 'trainer\.task'"):
        kdl.read({**REQUEST, "module": name})


@pytest.mark.parametrize("name", ["", "a b", "1x", "trainer..task", "--x"])
def test_what_is_no_module_is_refused(name):
    with pytest.raises(InvalidJob, match="module: must be"):
        kdl.read({**REQUEST, "module": name})


def test_commands_before_and_after_are_the_users_own():
    told = command({**REQUEST, "prepare_command": "pip install x", "finish_command": "rm -r t"})

    assert (told.before, told.after) == ("pip install x", "rm -r t")


@pytest.mark.parametrize("field", ["ks3_encryption_key", "tensorboard_name", "logdir"])
def test_what_is_promised_and_not_there_says_so(field):
    with pytest.raises(Unsupported, match=f"{field}: .* is not there yet"):
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
