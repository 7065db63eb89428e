"""What a ModelArts job can say of itself, as its script finds it."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

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


def test_the_working_directory_is_the_code_directory_or_the_users_choice(person):
    person.script("import os\nprint('at', os.getcwd())\n")
    person.script("", "deep/down/empty.py")

    at = "at /home/ma-user/modelarts/user-job-dir/code"
    assert f"{at}\n" in submits(person, "usual", {"boot_file": "train.py"})
    chosen = {"boot_file": "train.py", "working_dir": "deep/down"}
    assert f"{at}/deep/down\n" in submits(person, "chosen", chosen)


def test_modules_beside_the_boot_file_and_in_the_code_directory_are_imported(person):
    person.script("import beside, top, package.part\nprint(beside.X + top.X)\n", "tools/train.py")
    person.script("X = 40\n", "tools/beside.py")
    person.script("X = 2\n", "top.py")
    person.script("", "package/part.py")

    assert "42\n" in submits(person, "imports", {"boot_file": "tools/train.py"})


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
