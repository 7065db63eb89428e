"""What the service finds out by looking at the code of a job."""

import io
import tarfile

import pytest

from danlu.errors import InvalidJob

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
def dls(house):
    house.put("s3://bucket/old/train.py", COPIES)
    return {
        "dialect": "dls",
        "code": "s3://bucket/old",
        "boot_file": "train.py",
        "data_url": "s3://bucket/data",
        "train_url": "s3://bucket/out",
    }


@pytest.fixture
def kdl(house):
    def put(files):
        house.put("ks3://bucket/trainer-1.0.tar.gz", archive(files))
        return {
            "dialect": "kdl",
            "code": "ks3://bucket/trainer-1.0.tar.gz",
            "module": "trainer.task",
        }

    return put


def test_channels_that_the_script_copies_are_urls_and_the_job_says_why(house, dls):
    planned = house.service.plan(dls)

    assert planned.tasks[0].command.args == (
        "--data_url=s3://bucket/data",
        "--train_url=s3://bucket/out",
    )
    assert planned.job.notes[0] == (
        "data_url: passed as the URL s3://bucket/data: "
        "train.py:3 copies it with mox.file.copy_parallel. The field urls says otherwise."
    )


def test_the_users_word_wins_over_the_look(house, dls):
    planned = house.service.plan({**dls, "urls": "none"})

    assert planned.job.notes == ()
    assert planned.tasks[0].command.args[0] == "--data_url=/home/work/inputs/data_url_0"


def test_both_services_of_the_family_are_looked_at(house, dls):
    planned = house.service.plan({**dls, "dialect": "modelarts"})

    assert planned.tasks[0].command.args[0] == "--data_url=s3://bucket/data"


def test_one_file_that_takes_a_path_makes_it_a_directory(house, dls):
    house.put("s3://bucket/old/reading.py", b"import os\nos.listdir(args.data_url)\n")

    planned = house.service.plan(dls)

    assert planned.job.spec.options["urls"] == "train_url"
    assert planned.job.notes[0] == (
        "data_url: a local directory: train.py:3 copies it with mox.file.copy_parallel, "
        "but reading.py:2 takes it as a path (os.listdir). The field urls says otherwise."
    )


def test_data_of_this_machine_is_always_a_directory(house, dls, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.csv").write_text("1")

    planned = house.service.plan({**dls, "data_url": (tmp_path / "data").as_uri()})

    assert planned.job.spec.options["urls"] == "train_url"


def test_an_archive_is_looked_into(house, dls):
    house.put("s3://bucket/old.tar.gz", archive({"train.py": COPIES}))

    planned = house.service.plan({**dls, "code": "s3://bucket/old.tar.gz"})

    assert planned.job.spec.options["urls"] == "data_url,train_url"


def test_a_source_distribution_is_entered(house, kdl):
    request = kdl({"trainer-1.0/setup.py": b"", "trainer-1.0/trainer/task.py": b""})

    command = house.service.plan(request).tasks[0].command

    assert command.cwd == "/home/kdl/job/trainer-1.0"


def test_a_package_that_was_packed_as_it_lies_is_not(house, kdl):
    request = kdl({"setup.py": b"", "trainer/task.py": b""})

    assert house.service.plan(request).tasks[0].command.cwd == "/home/kdl/job"


def test_a_module_may_be_a_package_with_a_main(house, kdl):
    request = kdl({"trainer/task/__main__.py": b""})

    assert house.service.plan(request).tasks[0].command.run == "trainer.task"


def test_a_setup_may_install_from_a_folder_of_its_own(house, kdl):
    request = kdl({"setup.py": b"", "src/trainer/task.py": b""})

    assert house.service.plan(request).tasks[0].command.run == "trainer.task"


def test_a_module_that_is_not_there_is_told_by_its_field(house, kdl):
    request = kdl({"trainer-1.0/setup.py": b"", "trainer-1.0/trainer/main.py": b""})

    with pytest.raises(InvalidJob) as caught:
        house.service.plan(request)

    assert caught.value.faults == (
        (
            "module",
            "'trainer.task' is not in the code directory. "
            "Its Python files: setup.py, trainer/main.py.",
        ),
    )


GRAPH = b"import tensorflow as tf\nsess = tf.Session()\n"
EAGER = b"import tensorflow as tf\n@tf.function\ndef f(): pass\n"


def environment(house, request):
    return house.service.plan(request).tasks[0].command.env


def test_code_for_tensorflow_1_sees_it_and_the_job_says_why(house, request_of):
    house.put("obs://bucket/code/train.py", GRAPH)

    planned = house.service.plan(request_of)

    assert planned.job.spec.tensorflow == "1.15.5"
    assert planned.job.notes == (
        "tensorflow: 1.15.5: train.py:2 uses tf.Session. "
        "The field framework_version says otherwise.",
    )
    assert planned.tasks[0].command.env["DANLU_TENSORFLOW"] == "1.15.5"


def test_code_for_tensorflow_2_sees_that(house, request_of):
    house.put("obs://bucket/code/train.py", EAGER)

    planned = house.service.plan(request_of)

    assert planned.tasks[0].command.env["DANLU_TENSORFLOW"] == "2.15.0"
    assert planned.job.notes[0].startswith("tensorflow: 2.15.0: train.py:2 uses tf.function.")


def test_code_of_keras_alone_sees_tensorflow_2_with_keras_2(house, request_of):
    house.put("obs://bucket/code/train.py", b"from tensorflow.keras.models import Sequential\n")

    planned = house.service.plan(request_of)

    assert planned.job.spec.tensorflow == "2.15.0"
    assert "train.py:1 imports tf.keras.models.Sequential" in planned.job.notes[0]


def test_the_package_keras_sees_tensorflow_1(house, request_of):
    house.put("obs://bucket/code/train.py", b"from keras.models import Sequential\n")

    planned = house.service.plan(request_of)

    assert planned.job.spec.tensorflow == "1.15.5"
    assert "imports keras.models.Sequential, which ran on TensorFlow 1" in planned.job.notes[0]


def test_code_without_tensorflow_is_left_alone(house, request_of):
    planned = house.service.plan(request_of)

    assert planned.job.spec.tensorflow == ""
    assert planned.job.notes == ()
    assert "DANLU_TENSORFLOW" not in planned.tasks[0].command.env


@pytest.mark.parametrize(
    ("asked", "seen"), [("1.14", "1.14.0"), ("1.14.0", "1.14.0"), ("2.16.1", "2.16.1")]
)
def test_the_version_a_user_names_wins_over_code_and_service(house, request_of, dls, asked, seen):
    house.put("obs://bucket/code/train.py", EAGER)

    for request in (request_of, dls):
        planned = house.service.plan({**request, "framework_version": asked})

        assert planned.tasks[0].command.env["DANLU_TENSORFLOW"] == seen
        assert not any(note.startswith("tensorflow") for note in planned.job.notes)


def test_a_user_may_have_tensorflow_left_alone(house, request_of):
    house.put("obs://bucket/code/train.py", GRAPH)

    assert "DANLU_TENSORFLOW" not in environment(house, {**request_of, "framework_version": "none"})


def test_services_that_had_tensorflow_1_only_need_no_look(house, dls, kdl):
    house.put("s3://bucket/old/train.py", EAGER)

    planned = house.service.plan({**dls, "urls": "none"})

    assert planned.job.spec.tensorflow == "1.15.5"
    assert planned.job.notes == (
        "tensorflow: 1.15.5: every job of dls has TensorFlow 1. "
        "The field framework_version says otherwise.",
    )
    request = kdl({"trainer/task.py": b"print(1)"})
    assert environment(house, request)["DANLU_TENSORFLOW"] == "1.15.5"


def test_a_source_distribution_is_followed_from_its_module(house, kdl):
    files = {
        "t-1.0/setup.py": b"",
        "t-1.0/trainer/task.py": b"from trainer import net",
        "t-1.0/trainer/net.py": GRAPH,
    }
    request = {**kdl(files), "framework_version": "auto"}

    planned = house.service.plan(request)

    assert planned.tasks[0].command.env["DANLU_CODE"] == "/home/kdl/job"
    assert planned.job.notes[0].startswith("tensorflow: 1.15.5: every job of kdl")


def test_the_runtime_is_told_where_the_users_own_files_are(house, request_of):
    code = "/home/ma-user/modelarts/user-job-dir/code"

    assert environment(house, request_of)["DANLU_CODE"] == code


def test_the_runtime_is_told_where_the_inputs_are(house, request_of):
    house.put("obs://bucket/data/mnist.npz", b"")
    request = {**request_of, "data_url": "obs://bucket/data"}
    inputs = "/home/ma-user/modelarts/inputs/data_url_0"

    assert environment(house, request)["DANLU_INPUTS"] == inputs


def test_training_may_be_cut_short(house, dls):
    planned = house.service.plan({**dls, "max_steps": 3})

    assert planned.tasks[0].command.env["DANLU_MAX_STEPS"] == "3"
    assert planned.job.notes[-1] == "max_steps: training ends after 3 steps."


def test_a_cut_that_changes_nothing_is_said_to(house, request_of):
    house.put("obs://bucket/code/train.py", EAGER)

    notes = house.service.plan({**request_of, "max_steps": 1}).job.notes

    assert notes[-1] == (
        "max_steps: changes nothing here. It ends training loops of TensorFlow 1, "
        "and this script has TensorFlow 2.15.0."
    )


def test_a_version_that_is_none_is_told_with_all_other_faults(house, request_of):
    wrong = {"framework_version": "PyTorch-1.0", "max_steps": -1}

    with pytest.raises(InvalidJob) as caught:
        house.service.plan({**request_of, **wrong})

    assert dict(caught.value.faults) == {
        "framework_version": "must be a version of TensorFlow in quotes such as '1.14', or 'none'; "
        "got 'PyTorch-1.0'.",
        "max_steps": "must be a whole number of at least 0, got -1.",
    }


def test_a_job_that_is_run_again_keeps_its_version(house, request_of):
    first = house.service.submit({**request_of, "framework_version": "1.12", "max_steps": 5})

    again = house.service.rerun(first.name, {})

    assert (again.spec.tensorflow, again.spec.max_steps) == ("1.12.0", 5)
