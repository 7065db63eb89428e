"""Whole jobs of KDL and DLS, as their scripts find them."""

import json
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

SHARED_HOME = True

EXAMPLES = Path(__file__).parent.parent.parent / "examples"

ARGS = """
import os, sys
print("args", sys.argv[1:])
print("at", os.getcwd(), os.path.exists("setup.py"))
import trainer
print("main", __name__, os.path.isabs(__file__), trainer.__name__)
"""


@pytest.fixture
def package(person):
    folder = person.folder / "work"
    (folder / "trainer").mkdir(parents=True)
    (folder / "trainer" / "__init__.py").write_text("")
    (folder / "trainer" / "task.py").write_text(ARGS)
    (folder / "setup.py").write_text(
        "from setuptools import setup\nsetup(name='trainer', version='1.0', packages=['trainer'])\n"
    )
    return folder


def example(person, name):
    shutil.copytree(EXAMPLES / name, person.folder / name)
    make_data = [sys.executable, person.folder / name / "make_data.py"]
    subprocess.run([*make_data, person.folder / name / "data"], check=True)
    return person.folder / name


def test_module_runs_as_main_in_its_packages_folder(person, package):
    done = person.types("run", "work", "--module", "trainer.task", "--", "--lr", "0.1", "a b", "")

    assert "args ['--lr', '0.1', 'a b', '']\n" in done.stdout
    assert "at /home/kdl/job True\n" in done.stdout
    assert "main __main__ True trainer\n" in done.stdout


def test_a_package_without_a_setup_is_run(person, package):
    """The KDL manual makes a package of two files and prints no setup.py."""
    (package / "setup.py").unlink()

    done = person.types("run", "work", "--dialect", "kdl", "--", "--lr", "0.1")

    assert "args ['--lr', '0.1']\n" in done.stdout
    assert "at /home/kdl/job False\n" in done.stdout
    assert "main __main__ True trainer\n" in done.stdout


def test_a_source_distribution_in_the_store_is_entered(person, package):
    path = person.folder / "trainer-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as packed:
        packed.add(package, "trainer-1.0")
    person.types("store", "cp", path, "ks3://bucket/trainer-1.0.tar.gz")

    done = person.types("run", "ks3://bucket/trainer-1.0.tar.gz", "--module", "trainer.task")

    assert "at /home/kdl/job/trainer-1.0 True\n" in done.stdout


def test_the_master_of_a_cluster_decides(person, package):
    (package / "trainer" / "task.py").write_text(
        "import json, os, time\n"
        "config = json.loads(os.environ['TF_CONFIG'])\n"
        "print(config['task'], sorted(config['cluster']), flush=True)\n"
        "while config['task']['type'] != 'master':\n"
        "    time.sleep(1)\n"
    )

    person.types("run", "work", "--name", "both", "--worker-count", "1", "--ps-count", "1",
                 "--cpus", "0.5")  # fmt: skip

    log = person.types("logs", "both").stdout
    assert "{'type': 'master', 'index': 0} ['master', 'ps', 'worker']" in log
    assert person.processes_of(person.asks("show", "both")) == []


def test_the_example_of_kdl_trains(person):
    folder = example(person, "kdl")

    person.types("run", folder, "--module", "trainer.task", "--",
                 "--max_epochs", "200", "--model_path", folder / "model")  # fmt: skip
    person.types("submit", folder / "job.toml", "--name", "file", "--follow")

    line = json.loads((folder / "model" / "1" / "line.json").read_text())
    assert (line["slope"], line["offset"]) == pytest.approx((2, 1), abs=0.05)
    log = person.types("logs", "file").stdout
    assert "preparing\n" in log
    assert "Epoch: 200, loss: 0.00" in log


def test_dls_example_trains_on_one_or_two_nodes(person):
    folder = example(person, "dls")

    person.types("run", folder / "code", "--dialect", "dls", "--boot-file", "train.py",
                 "--data-url", folder / "data", "--train-url", folder / "log")  # fmt: skip
    assert set(json.loads((folder / "log" / "model.json").read_text())) == {
        "daisy", "rose", "tulip",
    }  # fmt: skip
    (folder / "log" / "model.json").unlink()
    person.types("submit", folder / "job.toml", "--name", "two", "--follow")

    assert "ps 1 of 2 waits" in person.types("logs", "two").stdout
    assert (folder / "log" / "model.json").exists()


def test_failing_kdl_setup_is_reported_but_module_runs(person, package):
    """The manual calls setup.py without a look at its exit code."""
    (package / "setup.py").write_text("raise SystemExit(3)\n")

    done = person.types("run", package, "--dialect", "kdl")

    assert "main __main__" in done.stdout
    assert "the package (setup.py): left out: setup.py does not build" in done.stderr


def test_module_with_name_that_cannot_be_imported(person, package):
    (package / "setup.py").unlink()
    (package / "trainer" / "2-input.py").write_text(ARGS)
    words = ("--dialect", "kdl", "--module", "trainer.2-input")

    assert "main __main__ True trainer" in person.types("run", package / "trainer", *words).stdout


def test_script_without_data_is_reported_by_empty_flag(person):
    """MoXing manual, pitfall 2-4-3."""
    script = person.script("import sys\nprint('args', sys.argv[1:])\n")

    done = person.types("run", script, "--dialect", "dls", "-p", "my_flag=")

    assert "args ['--data_url=', '--my_flag=', '--num_gpus=1']\n" in done.stdout


def test_script_that_copies_with_moxing_gets_url(person):
    script = person.script(
        "import sys\n"
        "print('args', sys.argv[1:])\n"
        "def fetch(args, mox):\n"
        "    mox.file.copy_parallel(args.data_url, '/cache/data')\n"
    )
    (person.folder / "data").mkdir()
    (person.folder / "data" / "x").write_text("1")
    person.types("store", "cp", person.folder / "data", "s3://bucket/data")
    words = ("run", script, "--data-url", "s3://bucket/data")

    found = person.types(*words)
    reported = person.types(*words, "--urls", "none")

    assert "args ['--data_url=s3://bucket/data/']\n" in found.stdout
    assert "passed as the URL s3://bucket/data: train.py:4 copies it" in found.stderr
    assert "args ['--data_url=/home/ma-user/modelarts/inputs/data_url_0/']\n" in reported.stdout


# Many public scripts for ModelArts join as the first write does: folders ended with a slash there.
JOINS = """
import argparse, os
import moxing as mox
parser = argparse.ArgumentParser()
parser.add_argument("--data_url")
parser.add_argument("--train_url")
args, unknown = parser.parse_known_args()
print("data", mox.file.read(args.data_url))
mox.file.write(args.train_url + "plus", "1")
mox.file.write(args.train_url + "/slash", "1")
mox.file.write(os.path.join(args.train_url, "joined"), "1")
mox.file.copy_parallel(os.getcwd(), args.train_url + "/code")
"""


@pytest.mark.parametrize("urls", ["none", "all"])
def test_modelarts_folders_end_with_a_slash(person, urls):
    script = person.script(JOINS)
    (person.folder / "a.csv").write_text("1,2")
    person.types("store", "cp", person.folder / "a.csv", f"obs://joins/{urls}/a.csv")
    data, out = f"obs://joins/{urls}/a.csv", f"obs://joins/{urls}-out"

    words = ("--data-url", data, "--train-url", out, "--urls", urls, "--dialect", "modelarts")
    done = person.types("run", script, *words)

    assert "data 1,2" in done.stdout
    assert "a.csv is one file: the script gets its path." in done.stderr
    listed = person.types("store", "ls", "-r", out).stdout
    assert [line.split()[-1] for line in listed.splitlines()] == [
        *("code/train.py", "joined", "plus", "slash")
    ]


def test_output_begins_with_what_is_there_when_asked(person):
    script = person.script(
        "import argparse, os\n"
        "parser = argparse.ArgumentParser()\n"
        "parser.add_argument('--train_url')\n"
        "print('found', os.listdir(parser.parse_args().train_url))\n"
    )
    (person.folder / "out").mkdir()
    (person.folder / "out" / "model.ckpt").write_text("7")
    words = ("run", script, "--train-url", "out")

    assert "found []\n" in person.types(*words).stdout
    assert "found ['model.ckpt']\n" in person.types(*words, "--predownload", "train_url").stdout
