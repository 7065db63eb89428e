"""The fields of a ModelArts job, as its script receives them."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

SHARED_HOME = True

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


def submits(person, name, fields):
    """Write a job file, submit it, wait for its end and return its log."""
    text = "\n".join(f"{key} = {json.dumps(value)}" for key, value in fields.items())
    (person.folder / "job.toml").write_text(f'code = "code"\n{text}\n', encoding="utf-8")
    person.types("submit", "job.toml", "--name", name)
    person.types("wait", name)
    return person.types("logs", name).stdout


def test_a_script_that_runs_too_long_is_ended(person):
    script = person.script("import time\ntime.sleep(600)\n")

    person.types("run", script, "--name", "long", "--timeout", "0.5", code=5)

    ended = person.asks("show", "long")
    assert (ended["state"], ended["reason"]) == ("failed", "timed_out")
    assert person.processes_of(ended) == []


def test_working_directory_is_code_directory_or_users_choice(person):
    person.script("import os\nprint('at', os.getcwd())\n")
    person.script("", "deep/down/empty.py")

    at = "at /home/ma-user/modelarts/user-job-dir/code"
    assert f"{at}\n" in submits(person, "usual", {"boot_file": "train.py"})
    chosen = {"boot_file": "train.py", "working_dir": "deep/down"}
    assert f"{at}/deep/down\n" in submits(person, "chosen", chosen)


def test_modules_beside_boot_file_are_imported(person):
    person.script("import beside, top, package.part\nprint(beside.X + top.X)\n", "tools/train.py")
    person.script("X = 40\n", "tools/beside.py")
    person.script("X = 2\n", "top.py")
    person.script("", "package/part.py")

    assert "42\n" in submits(person, "imports", {"boot_file": "tools/train.py"})


def test_libraries_and_models_in_code_directory_are_found(person):
    """Code in the store with a folder below it, a shared library and a trained model."""
    person.script(
        "import ctypes, os\n"
        "from sub.mod import X\n"
        "library = ctypes.CDLL('libours.so')\n"
        "library.fabs.restype, library.fabs.argtypes = ctypes.c_double, [ctypes.c_double]\n"
        "print('found', X, library.fabs(-2.0), open('pre/model.ckpt').read())\n"
    )
    person.script("X = 1\n", "sub/mod.py")
    person.script("weights", "pre/model.ckpt")
    maps = Path("/proc/self/maps").read_text()
    mathematics = re.search(r"/\S*/libm[.-]\S*", maps)
    assert mathematics, "this Python has not loaded the C library's mathematics"
    shutil.copy(mathematics[0], person.folder / "code" / "libours.so")
    person.types("store", "sync", person.folder / "code", "obs://programs/libraries")

    done = person.types("run", "obs://programs/libraries", "--dialect", "modelarts",
                        "--boot-file", "train.py")  # fmt: skip

    assert "found 1 2.0 weights\n" in done.stdout


def test_workers_decide_and_parameter_servers_are_ended(person):
    script = person.script(
        "import argparse, time\n"
        "parser = argparse.ArgumentParser()\n"
        "for name in ('job_name', 'task_index', 'ps_hosts', 'worker_hosts', 'num_gpus'):\n"
        "    parser.add_argument('--' + name)\n"
        "args = parser.parse_args()\n"
        "hosts = args.ps_hosts.split(',') + args.worker_hosts.split(',')\n"
        "print('I am', args.job_name, args.task_index, 'of', len(set(hosts)), flush=True)\n"
        "while args.job_name == 'ps':\n"
        "    time.sleep(1)\n"
    )

    person.types("run", script, "--name", "both", "--nodes", "2", "--cpus", "0.5")

    log = person.types("logs", "both").stdout
    for task in ("worker 0", "worker 1"):
        assert f"I am {task} of 4" in log
    assert person.processes_of(person.asks("show", "both")) == []


def test_the_example_of_the_service_trains(person):
    shutil.copytree(EXAMPLES / "modelarts", person.folder / "example")
    make_data = person.folder / "example" / "make_data.py"
    data = person.folder / "example" / "data"
    subprocess.run([sys.executable, make_data, data, "--rows", "200"], check=True)

    person.types("submit", "example/job.toml", "--name", "digits", "--follow")

    assert "Done exporting!" in person.types("logs", "digits").stdout
    assert (person.folder / "example" / "output" / "model" / "weights.json").exists()
