"""What the service finds out by looking at the code of a job."""

import io
import tarfile

import pytest

from danlu.errors import InvalidJob
from danlu.server.routes.jobs import job_view

COPIES = b"""
import moxing as mox
mox.file.copy_parallel(args.data_url, '/cache/data')
mox.file.copy_parallel('/cache/out', args.train_url)
"""


def archive(files):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return packed.getvalue()


@pytest.fixture
def dls(platform):
    platform.put("s3://bucket/old/train.py", COPIES)
    return {
        "dialect": "dls",
        "code": "s3://bucket/old",
        "boot_file": "train.py",
        "data_url": "s3://bucket/data",
        "train_url": "s3://bucket/out",
    }


@pytest.fixture
def kdl(platform):
    def put(files):
        platform.put("ks3://bucket/trainer-1.0.tar.gz", archive(files))
        return {
            "dialect": "kdl",
            "code": "ks3://bucket/trainer-1.0.tar.gz",
            "module": "trainer.task",
        }

    return put


def test_channels_that_script_copies_are_urls_with_note(platform, dls):
    planned = platform.service.plan(dls)

    assert planned.tasks[0].command.args == (
        "--data_url=s3://bucket/data",
        "--train_url=s3://bucket/out",
        "--num_gpus=1",
    )
    assert planned.job.notes[0] == (
        "data_url: passed as the URL s3://bucket/data: "
        "train.py:3 copies it with mox.file.copy_parallel. Set --urls to change this."
    )


def test_the_users_word_wins_over_the_look(platform, dls):
    planned = platform.service.plan({**dls, "urls": "none"})

    assert planned.job.notes == ()
    assert planned.tasks[0].command.args[0] == "--data_url=/home/work/inputs/data_url_0"


def test_both_services_of_the_family_are_looked_at(platform, dls):
    planned = platform.service.plan({**dls, "dialect": "modelarts"})

    assert planned.tasks[0].command.args[0] == "--data_url=s3://bucket/data/"


@pytest.mark.parametrize("dialect", ["modelarts", "dls"])
def test_an_input_that_is_one_file_is_noted(platform, dls, dialect):
    platform.put("s3://bucket/data/mnist.npz", b"1")
    uri = "s3://bucket/data/mnist.npz"

    planned = platform.service.plan({**dls, "dialect": dialect, "data_url": uri, "urls": "none"})

    assert f"data_url: {uri} is one file: the script gets its path." in planned.job.notes
    assert planned.tasks[0].command.args[0].endswith("/inputs/data_url_0/mnist.npz")


def test_folder_with_name_of_file_is_folder(platform, dls):
    platform.put("s3://bucket/data", b"a file beside the folder of the same name")
    platform.put("s3://bucket/data/mnist.npz", b"1")

    planned = platform.service.plan({**dls, "urls": "none"})

    assert planned.tasks[0].command.args[0].endswith("/inputs/data_url_0")


def test_one_file_that_takes_path_makes_it_directory(platform, dls):
    platform.put("s3://bucket/old/reading.py", b"import os\nos.listdir(args.data_url)\n")

    planned = platform.service.plan(dls)

    assert planned.job.spec.options["urls"] == "train_url"
    assert planned.job.notes[0] == (
        "data_url: a local directory: train.py:3 copies it with mox.file.copy_parallel, "
        "but reading.py:2 (os.listdir) uses it as a path. Set --urls to change this."
    )


def test_data_of_this_machine_is_always_a_directory(platform, dls, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.csv").write_text("1")

    planned = platform.service.plan({**dls, "data_url": (tmp_path / "data").as_uri()})

    assert planned.job.spec.options["urls"] == "train_url"


TRAINS = b"""
import moxing.tensorflow as mox
mox.run(input_fn, model_fn, log_dir=FLAGS.train_url)
"""


def test_dls_output_is_url_unless_path_needed(platform, dls):
    platform.put("s3://bucket/old/train.py", TRAINS)

    planned = platform.service.plan(dls)

    assert planned.tasks[0].command.args[1] == "--train_url=s3://bucket/out"
    assert planned.tasks[0].command.push == ()
    assert planned.job.notes[0] == (
        "train_url: passed as the URL s3://bucket/out: train.py:3 passes it to mox.run, and no "
        "line of the code needs a local path. Set --urls to change this."
    )

    platform.put("s3://bucket/old/tools.py", b"import os\nos.makedirs(FLAGS.train_url)\n")
    planned = platform.service.plan(dls)

    assert planned.tasks[0].command.args[1] == "--train_url=/home/work/outputs/train_url_0"
    assert planned.job.notes[0] == (
        "train_url: a local directory: tools.py:2 needs a local path (os.makedirs). "
        "Set --urls to change this."
    )


def test_dls_output_is_checked_without_tensorflow_or_parser(platform, dls):
    platform.put("s3://bucket/old/train.py", b"def main(train_url):\n    open(train_url)\n")

    assert platform.service.plan(dls).job.spec.options["urls"] == ""


def test_an_output_of_modelarts_is_a_directory(platform, dls):
    platform.put("s3://bucket/old/train.py", TRAINS)

    assert platform.service.plan({**dls, "dialect": "modelarts"}).job.spec.options["urls"] == ""


def test_a_local_output_of_dls_is_a_directory(platform, dls, tmp_path):
    platform.put("s3://bucket/old/train.py", TRAINS)

    planned = platform.service.plan({**dls, "train_url": (tmp_path / "out").as_uri()})

    assert planned.job.spec.options["urls"] == ""


STRICT = b"""
import argparse
parser = argparse.ArgumentParser()
parser.add_argument('--data_url')
parser.add_argument('--train_url')
args = parser.parse_args()
"""


def test_num_gpus_is_omitted_for_strict_parser(platform, dls):
    platform.put("s3://bucket/old/train.py", STRICT)

    planned = platform.service.plan(dls)

    assert not any("num_gpus" in word for word in planned.tasks[0].command.args)
    assert (
        "num_gpus: left out, although the service passed it: the parser of train.py:6 accepts no "
        "argument that the script does not define."
    ) in planned.job.notes


@pytest.mark.parametrize(
    "text",
    [
        STRICT.replace(b"args = ", b"parser.add_argument('--num_gpus')\nargs = "),
        STRICT.replace(b"args = parser.parse_args", b"args, _ = parser.parse_known_args"),
        b"import tensorflow as tf\ntf.flags.DEFINE_string('data_url', '', '')\n",
        b"import moxing.tensorflow as mox\n",
    ],
)
def test_num_gpus_is_one_without_gpus(platform, dls, text):
    platform.put("s3://bucket/old/train.py", text)

    assert platform.service.plan(dls).tasks[0].command.args[-1] == "--num_gpus=1"


def test_clones_on_cpu_are_offered_without_gpus(platform, dls):
    offer = "The script gets --num_gpus=1; `-p num_gpus=4` makes 4 clones on the CPU."

    planned = platform.service.plan({**dls, "flavor": "4*P100"})
    assert any(note.endswith(offer) for note in planned.job.notes)

    given = platform.service.plan({**dls, "flavor": "4*P100", "parameters": {"num_gpus": "4"}})
    assert given.tasks[0].command.args[-1] == "--num_gpus=4"
    assert not any(offer in note for note in given.job.notes)


def test_an_archive_is_looked_into(platform, dls):
    platform.put("s3://bucket/old.tar.gz", archive({"train.py": COPIES}))

    planned = platform.service.plan({**dls, "code": "s3://bucket/old.tar.gz"})

    assert planned.job.spec.options["urls"] == "data_url,train_url"


def test_a_source_distribution_is_entered(platform, kdl):
    request = kdl({"trainer-1.0/setup.py": b"", "trainer-1.0/trainer/task.py": b""})

    command = platform.service.plan(request).tasks[0].command

    assert command.cwd == "/home/kdl/job/trainer-1.0"


@pytest.mark.parametrize(
    ("files", "to"),
    [
        (("trainer/__init__.py", "trainer/task.py"), "/home/kdl/job"),
        (("trainer/setup.py", "trainer/task.py"), "/home/kdl/job"),
        (("__init__.py", "task.py"), "/home/kdl/job/trainer"),
        (("setup.py", "task.py"), "/home/kdl/job/trainer"),
    ],
)
def test_single_package_is_placed_at_its_module(platform, kdl, files, to):
    command = platform.service.plan(kdl(dict.fromkeys(files, b""))).tasks[0].command

    assert command.fetch[0].to == to
    assert command.cwd == "/home/kdl/job"
    assert "/home/kdl/job/trainer" in [item.path for item in command.install]


def test_parameters_of_a_package_alone_are_checked(platform, kdl):
    script = b"import argparse\np = argparse.ArgumentParser()\np.add_argument('--steps')\n"
    request = kdl({"task.py": script + b"p.parse_args()\n"})

    with pytest.raises(InvalidJob, match="Did you mean 'steps'"):
        platform.service.plan({**request, "parameters": {"stepss": "3"}})


def test_package_packed_as_it_is_is_not_moved(platform, kdl):
    request = kdl({"setup.py": b"", "trainer/task.py": b""})

    assert platform.service.plan(request).tasks[0].command.cwd == "/home/kdl/job"


def test_module_may_be_package_with_main(platform, kdl):
    request = kdl({"trainer/task/__main__.py": b""})

    assert platform.service.plan(request).tasks[0].command.run == "trainer.task"


def test_setup_may_install_from_folder_of_its_own(platform, kdl):
    request = kdl({"setup.py": b"", "src/trainer/task.py": b""})

    assert platform.service.plan(request).tasks[0].command.run == "trainer.task"


def test_missing_module_is_reported_by_its_field(platform, kdl):
    request = kdl({"trainer-1.0/setup.py": b"", "trainer-1.0/trainer/main.py": b""})

    with pytest.raises(InvalidJob) as caught:
        platform.service.plan(request)

    assert caught.value.faults == (
        (
            "module",
            "'trainer.task' is not in the code directory. "
            "Its Python files: setup.py, trainer/main.py.",
        ),
    )


GRAPH = b"import tensorflow as tf\nsess = tf.Session()\n"
EAGER = b"import tensorflow as tf\n@tf.function\ndef f(): pass\n"


def environment(platform, request):
    return platform.service.plan(request).tasks[0].command.env


def test_code_for_tensorflow_1_sees_it_with_note(platform, request_of):
    platform.put("obs://bucket/code/train.py", GRAPH)

    planned = platform.service.plan(request_of)

    assert planned.job.spec.tensorflow == "1.15.5"
    assert planned.job.notes == ("tensorflow: 1.15.5: train.py:2 uses tf.Session.",)
    assert planned.tasks[0].command.env["DANLU_TENSORFLOW"] == "1.15.5"


def test_code_for_tensorflow_2_sees_that(platform, request_of):
    platform.put("obs://bucket/code/train.py", EAGER)

    planned = platform.service.plan(request_of)

    assert planned.tasks[0].command.env["DANLU_TENSORFLOW"] == "2.15.0"
    assert planned.job.notes[0].startswith("tensorflow: 2.15.0: train.py:2 uses tf.function.")


def test_code_of_keras_alone_sees_tf2_with_keras2(platform, request_of):
    platform.put("obs://bucket/code/train.py", b"from tensorflow.keras.models import Sequential\n")

    planned = platform.service.plan(request_of)

    assert planned.job.spec.tensorflow == "2.15.0"
    assert "train.py:1 imports tf.keras.models.Sequential" in planned.job.notes[0]


def test_the_package_keras_sees_tensorflow_1(platform, request_of):
    platform.put("obs://bucket/code/train.py", b"from keras.models import Sequential\n")

    planned = platform.service.plan(request_of)

    assert planned.job.spec.tensorflow == "1.15.5"
    assert "imports keras.models.Sequential, which ran on TensorFlow 1" in planned.job.notes[0]


@pytest.mark.parametrize(
    ("code", "guessed"),
    [
        (GRAPH, False),
        (EAGER, False),
        (b"from keras.models import Sequential\n", True),
        (b"from tensorflow.keras.models import Sequential\n", True),
        (b"import tensorflow as tf\n", True),
        (GRAPH + b"tf.function(print)\n", True),
    ],
)
def test_option_for_version_is_named_for_guess(platform, request_of, code, guessed):
    platform.put("obs://bucket/code/train.py", code)

    note = platform.service.plan(request_of).job.notes[0]

    assert note.startswith("tensorflow: ")
    assert note.endswith(". Set --framework-version to change this.") is guessed


def test_code_without_tensorflow_is_left_alone(platform, request_of):
    planned = platform.service.plan(request_of)

    assert planned.job.spec.tensorflow == ""
    assert planned.job.notes == ()
    assert "DANLU_TENSORFLOW" not in planned.tasks[0].command.env


@pytest.mark.parametrize(
    ("asked", "seen"), [("1.14", "1.14.0"), ("1.14.0", "1.14.0"), ("2.16.1", "2.16.1")]
)
def test_version_user_names_wins_over_code_and_service(platform, request_of, dls, asked, seen):
    platform.put("obs://bucket/code/train.py", EAGER)

    for request in (request_of, dls):
        planned = platform.service.plan({**request, "framework_version": asked})

        assert planned.tasks[0].command.env["DANLU_TENSORFLOW"] == seen
        assert not any(note.startswith("tensorflow") for note in planned.job.notes)


def test_a_user_may_have_tensorflow_left_alone(platform, request_of):
    platform.put("obs://bucket/code/train.py", GRAPH)

    assert "DANLU_TENSORFLOW" not in environment(
        platform, {**request_of, "framework_version": "none"}
    )


def test_services_that_had_tf1_only_need_no_look(platform, dls, kdl):
    platform.put("s3://bucket/old/train.py", EAGER)

    planned = platform.service.plan({**dls, "urls": "none"})

    assert planned.job.spec.tensorflow == "1.15.5"
    assert planned.job.notes == ("tensorflow: 1.15.5: every job of dls has TensorFlow 1.",)
    request = kdl({"trainer/task.py": b"print(1)"})
    assert environment(platform, request)["DANLU_TENSORFLOW"] == "1.15.5"


def test_a_source_distribution_is_followed_from_its_module(platform, kdl):
    files = {
        "t-1.0/setup.py": b"",
        "t-1.0/trainer/task.py": b"from trainer import net",
        "t-1.0/trainer/net.py": GRAPH,
    }
    request = {**kdl(files), "framework_version": "auto"}

    planned = platform.service.plan(request)

    assert planned.tasks[0].command.env["DANLU_CODE"] == "/home/kdl/job"
    assert planned.job.notes[0].startswith("tensorflow: 1.15.5: every job of kdl")


def test_runtime_gets_paths_of_user_files(platform, request_of):
    code = "/home/ma-user/modelarts/user-job-dir/code"

    assert environment(platform, request_of)["DANLU_CODE"] == code


def test_runtime_gets_paths_of_inputs(platform, request_of):
    platform.put("obs://bucket/data/mnist.npz", b"")
    request = {**request_of, "data_url": "obs://bucket/data"}
    inputs = "/home/ma-user/modelarts/inputs/data_url_0"

    assert environment(platform, request)["DANLU_INPUTS"] == inputs


def test_training_may_be_cut_short(platform, dls):
    planned = platform.service.plan({**dls, "max_steps": 3})

    assert planned.tasks[0].command.env["DANLU_MAX_STEPS"] == "3"
    assert planned.job.notes[-1] == "max_steps: training ends after 3 steps."


def test_cut_in_tf2_reports_what_it_cannot_end(platform, request_of):
    platform.put("obs://bucket/code/train.py", EAGER)

    notes = platform.service.plan({**request_of, "max_steps": 1}).job.notes

    assert notes[-1].startswith("max_steps: training ends after 1 step: fit and train_on_batch")
    assert "If the training cannot be ended, the log" in notes[-1]


def test_cut_without_effect_is_reported(platform, request_of):
    request = {**request_of, "framework_version": "none"}
    why = "A step limit ends training loops of TensorFlow, and this script has no TensorFlow."

    planned = platform.service.plan({**request, "max_steps": 1})
    rehearsed = platform.service.plan({**request, "rehearse": True})

    assert planned.job.notes[-1] == f"max_steps: no effect here. {why}"
    assert job_view(planned.job)["shortened"] is None
    assert f"max_steps: the rehearsal runs to the end of the script. {why}" in rehearsed.job.notes


def test_invalid_version_is_reported_with_other_faults(platform, request_of):
    wrong = {"framework_version": "PyTorch-1.0", "max_steps": -1}

    with pytest.raises(InvalidJob) as caught:
        platform.service.plan({**request_of, **wrong})

    assert dict(caught.value.faults) == {
        "framework_version": "must be a version of TensorFlow in quotes such as '1.14', or 'none', "
        "got 'PyTorch-1.0'.",
        "max_steps": "must be a whole number of at least 0, got -1.",
    }


def test_job_that_is_run_again_keeps_its_version(platform, request_of):
    first = platform.service.submit({**request_of, "framework_version": "1.12", "max_steps": 5})

    again = platform.service.rerun(first.name, {})

    assert (again.spec.tensorflow, again.spec.max_steps) == ("1.12.0", 5)


@pytest.mark.parametrize(
    ("dialect", "beginning"),
    [
        ("dls", "code: the directory has 11.0 MB, more than the 10.0 MB that DLS accepted; "),
        ("modelarts", "code: the directory has 11.0 MB; "),
    ],
)
def test_data_in_the_code_directory_is_noted(platform, dls, dialect, beginning):
    platform.put("s3://bucket/old/samples.bin", bytes(11_000_000))

    notes = platform.service.plan({**dls, "dialect": dialect}).job.notes

    assert notes[-1] == (
        f"{beginning}its largest file is samples.bin (11.0 MB). "
        "Pass data to the job as an input (data_url), not as code."
    )


def test_data_in_a_code_archive_is_noted(platform, dls):
    files = {"train.py": COPIES, "samples.bin": bytes(11_000_000)}
    platform.put("s3://bucket/code.tar.gz", archive(files))

    notes = platform.service.plan({**dls, "code": "s3://bucket/code.tar.gz"}).job.notes

    assert "its largest file is samples.bin (11.0 MB)" in notes[-1]


def test_a_small_code_directory_has_no_note(platform, dls):
    platform.put("s3://bucket/old/samples.bin", bytes(9 << 20))

    assert not any(note.startswith("code:") for note in platform.service.plan(dls).job.notes)
