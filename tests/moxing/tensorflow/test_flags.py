"""The flags of MoXing: manual 2.3, and the reference page."""

import importlib.util
import logging
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from moxing.tensorflow.executor.request import get_flag, set_flag
from moxing.tensorflow.utils.hyper_param_flags import GROUPS, Flag, HyperParamFlags, mox_flags

spec = importlib.util.spec_from_file_location(
    "flag_pages", Path(__file__).with_name("flag_pages.py")
)
pages = importlib.util.module_from_spec(spec)
spec.loader.exec_module(pages)

EVERY = [flag for group in GROUPS.values() for flag in group]


@pytest.fixture(autouse=True)
def command_line(monkeypatch):
    """Every test begins with a command line without flags; the result gives it some."""

    def give(*argv):
        monkeypatch.setattr(sys, "argv", ["train.py", *argv])
        mox_flags.forget()

    give()
    yield give
    mox_flags.forget()


def test_flags_of_manual_are_read_from_command_line(command_line):
    """Manual, section 2.3: the command line of the second worker."""
    command_line(
        "--data_url=s3://bucket/data",
        "--job_name=worker",
        "--task_index=1",
        "--ps_hosts=192.168.1.100:2222,192.168.1.101:2222",
        "--worker_hosts=192.168.1.100:2223,192.168.1.101:2223",
        "--num_gpus=4",
    )

    assert get_flag("job_name") == "worker"
    assert get_flag("task_index") == 1
    assert get_flag("num_gpus") == 4
    assert len(get_flag("worker_hosts").split(",")) == 2


def test_one_process_alone_counts_one_worker():
    assert len(get_flag("worker_hosts").split(",")) == 1


@pytest.mark.parametrize("flag", EVERY, ids=lambda flag: flag.name)
def test_empty_flag_value_means_default(flag, command_line):
    assert get_flag(flag.name) == flag.default
    command_line(f"--{flag.name}=")

    assert get_flag(flag.name) == flag.default
    assert type(get_flag(flag.name)) is flag.type
    assert flag.help.endswith(".")


def test_no_flag_is_there_twice():
    assert len({flag.name for flag in EVERY}) == len(EVERY)


@pytest.mark.parametrize(
    ("argv", "name", "value"),
    [
        (["--num_gpus=4"], "num_gpus", 4),
        (["--num_gpus", "4"], "num_gpus", 4),
        (["-num_gpus=4"], "num_gpus", 4),
        (["--num_gpus=4", "--num_gpus=2"], "num_gpus", 2),
        (["--num_gpus=4", "--", "--num_gpus=2"], "num_gpus", 4),
        (["--loss_scale=1024"], "loss_scale", 1024.0),
        (["--loss_scale", "-1.5"], "loss_scale", -1.5),
        (["--session_timeout=1e3"], "session_timeout", 1000),
        (["--sync_replicas=False"], "sync_replicas", False),
        (["--sync_replicas=0"], "sync_replicas", False),
        (["--sync_replicas", "false"], "sync_replicas", False),
        (["--nosync_replicas"], "sync_replicas", False),
        (["--clone_on_cpu"], "clone_on_cpu", True),
        (["--clone_on_cpu", "data.csv"], "clone_on_cpu", True),
        (["--clone_on_cpu", "--num_gpus=2"], "num_gpus", 2),
        (["--data_url", "num_gpus=7"], "num_gpus", 1),
        (["--nothing=1", "--num_gpus=2"], "num_gpus", 2),
        (["--checkpoint_exclude_patterns=a=b"], "checkpoint_exclude_patterns", "a=b"),
    ],
)
def test_command_line_is_read_in_every_notation(command_line, argv, name, value):
    command_line(*argv)

    assert get_flag(name) == value


@pytest.mark.parametrize(
    ("argv", "name", "sentence"),
    [
        (["--num_gpus=two"], "num_gpus", "--num_gpus must be a whole number, got 'two'."),
        (["--num_gpus=1.5"], "num_gpus", "--num_gpus must be a whole number, got '1.5'."),
        (["--task_index=inf"], "task_index", "--task_index must be a whole number, got 'inf'."),
        (["--loss_scale=big"], "loss_scale", "--loss_scale must be a number, got 'big'."),
        (["--use_fp16=maybe"], "use_fp16", "--use_fp16 must be True or False, got 'maybe'."),
        (["--num_gpus"], "num_gpus", "--num_gpus has no value: write --num_gpus=1."),
        (["--ps_hosts", "--x"], "ps_hosts", "--ps_hosts has no value: write --ps_hosts=…."),
    ],
)
def test_value_of_another_type_is_reported_briefly(command_line, argv, name, sentence):
    command_line(*argv)

    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        get_flag(name)


def test_conflicting_flag_type_affects_no_other_flag(command_line):
    command_line("--loss_scale=dynamic", "--num_gpus=2", "--rank")

    assert get_flag("num_gpus") == 2


def test_command_line_is_read_at_first_question(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["train.py", "--num_gpus=3"])

    assert mox_flags.num_gpus == 3
    monkeypatch.setattr(sys, "argv", ["train.py", "--num_gpus=5"])
    assert mox_flags.num_gpus == 3


def test_what_is_set_wins_over_the_command_line(command_line):
    command_line("--checkpoint_exclude_patterns=conv1")
    set_flag("checkpoint_exclude_patterns", "global_step,logits")
    set_flag(flag_name="loss_scale", value=1024)

    assert get_flag(flag_name="checkpoint_exclude_patterns") == "global_step,logits"
    assert get_flag(name="loss_scale") == 1024.0
    assert type(mox_flags.loss_scale) is float


def test_none_sets_the_default_again():
    mox_flags.num_gpus = 4
    set_flag("num_gpus", None)

    assert get_flag("num_gpus") == 1


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("num_gpus", True, "num_gpus must be a whole number, got True."),
        ("num_gpus", [1], r"num_gpus must be a whole number, got \[1\]."),
        ("sync_replicas", 2, "sync_replicas must be True or False, got 2."),
        ("ps_hosts", ["a:1"], r"ps_hosts must be text, got \['a:1'\]."),
    ],
)
def test_a_wrong_value_is_not_set(name, value, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        set_flag(name, value)

    assert get_flag(name) == getattr(HyperParamFlags(EVERY, []), name)


@pytest.mark.parametrize("call", [get_flag, lambda name: set_flag(name, 1)])
@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("num_gpu", "Did you mean 'num_gpus'?"),
        ("batch_size", "mox_flags.get_help() lists them."),
        ("get_help", "mox_flags.get_help() lists them."),
        ("", "mox_flags.get_help() lists them."),
    ],
)
def test_unknown_name_is_reported_with_similar_name(call, name, hint):
    sentence = f"MoXing has no flag {name!r}. {hint}"

    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        call(name)


def test_an_unknown_attribute_is_one():
    assert not hasattr(mox_flags, "num_gpu")
    with pytest.raises(AttributeError, match="no flag 'num_gpu'"):
        mox_flags.num_gpu = 2


def test_a_flag_cannot_be_set_inside_a_callback(monkeypatch):
    callbacks = ModuleType("callbacks")
    callbacks.inside_callback = lambda: True
    monkeypatch.setitem(sys.modules, "moxing.tensorflow.executor.model", callbacks)

    with pytest.raises(RuntimeError, match="outside input_fn, model_fn and optimizer_fn"):
        set_flag("num_gpus", 2)

    assert get_flag("num_gpus") == 1


def test_flag_that_is_not_used_is_reported_once(command_line, caplog):
    caplog.set_level(logging.INFO, "moxing")
    command_line("--server_protocol=grpc+verbs", "--warmup_steps=0", "--num_gpus=2")

    assert get_flag("server_protocol") == "grpc+verbs"
    get_flag("num_gpus")
    set_flag("dgc_momentum", 0.9)
    set_flag("dgc_momentum", 0.8)
    set_flag("variable_update", "parameter_server")

    assert [record.getMessage() for record in caplog.records] == [
        "--server_protocol=grpc+verbs is accepted for compatibility, not used.",
        "--dgc_momentum=0.9 is accepted for compatibility, not used.",
    ]


def test_the_help_has_a_line_for_every_flag():
    lines = mox_flags.get_help().splitlines()

    assert [line.split()[0] for line in lines] == [f"--{name}" for name in mox_flags]
    assert lines[0].startswith("--num_gpus (int, 1) ")
    assert lines[0].endswith("model_fn is built once for each.")
    assert "--server_protocol (str, 'grpc')" in mox_flags.get_help()
    assert "Accepted, not used." in next(line for line in lines if "dgc_momentum " in line)


def test_table_of_ones_own_reads_its_own_line():
    flags = HyperParamFlags([Flag("depth", 3, "How deep.")], ["--depth=5"])

    assert flags.depth == 5
    assert "depth" in dir(flags)


def test_reading_a_flag_loads_no_tensorflow():
    program = (
        "import sys; sys.argv = ['train.py', '--num_gpus=2']\n"
        "from moxing.tensorflow.utils.hyper_param_flags import mox_flags\n"
        "from moxing.tensorflow.executor.request import set_flag\n"
        "set_flag('num_gpus', mox_flags.num_gpus + 1)\n"
        "print(mox_flags.num_gpus, 'tensorflow' in sys.modules, 'absl' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)

    assert done.stdout.split() == [b"3", b"False", b"False"]


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_reference_has_every_flag_as_it_is(lang):
    """Write it anew with tests/moxing/tensorflow/flag_pages.py."""
    assert pages.shown(lang) == pages.tables(lang)


def test_no_flag_is_translated_that_is_not_there():
    assert list(pages.CHINESE) == [flag.name for flag in EVERY]
