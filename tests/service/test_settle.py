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
