"""A script and the /tmp of the machine it runs on."""

import os
import tempfile
from pathlib import Path

import pytest


def test_file_of_machines_tmp_becomes_input(person):
    """The hint is followed, and the script runs."""
    script = person.script(
        "import argparse, os\n"
        "parser = argparse.ArgumentParser()\n"
        "parser.add_argument('--data_url')\n"
        "args, unknown = parser.parse_known_args()\n"
        "print('read', open(os.path.join(args.data_url, 'numbers.txt')).read())\n"
    )
    person.env["DANLU_SHARE_TMP"] = "false"
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder, "numbers.txt").write_text("1 2 3")

        given = f"data_url={folder}"
        done = person.types("run", script, "--name", "numbers", "-p", given, code=5)
        assert person.asks("show", "numbers")["cause"]["card"]["code"] == "tmp_own"
        assert f"{folder}/numbers.txt exists on this machine" in done.stderr
        assert "`--input NAME=URI`" in done.stderr

        done = person.types("run", script, "--name", "again", "--input", given)
        assert "read 1 2 3" in done.stdout


WRITES = """
import os, tempfile
for folder in ("/tmp", "/var/tmp", "/dev/shm"):
    path = os.path.join(folder, "of-a-job")
    assert not os.path.exists(path), path
    open(path, "w").write("data")
print("wrote", tempfile.gettempdir())
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="namespaces may need root")
def test_show_and_doctor_describe_the_isolation(person):
    person.env |= {"DANLU_SHARE_TMP": "false", "DANLU_SHM_LIMIT": "64000000"}
    script = person.script(WRITES)
    person.types("run", script, "--name", "own-1")
    person.types("run", script, "--name", "own-2")  # finds nothing of the first

    shown = person.types("show", "own-2").stdout
    checked = person.types("doctor", code=None).stdout

    (isolation,) = [line for line in shown.splitlines() if line.startswith("isolation")]
    assert "namespaces: root" in isolation
    assert "own /tmp and /var/tmp, limited by the disk (" in isolation
    assert "own /dev/shm of 64.0 MB" in isolation
    assert "its own /dev/shm (64.0 MB at most)" in checked
    for folder in ("/tmp", "/var/tmp", "/dev/shm"):
        assert not Path(folder, "of-a-job").exists()


def test_show_names_the_shared_folders_of_a_job(person):
    person.types("run", person.script("print('here')"), "--name", "shared")

    assert (
        "/tmp, /var/tmp and /dev/shm of the machine (share_tmp)"
        in person.types("show", "shared").stdout
    )
