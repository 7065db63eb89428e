"""danlu verify: both runs are apart, and what differs is reported."""

import json
import os
import sys
import textwrap
from pathlib import Path

import pytest

from danlu.cli.app import run
from danlu.cli.commands.verify import reference_environment

# Both sides run this script; DANLU_TENSORFLOW is set on Danlu only.
SCRIPT = """
import os, sys
import random

ours = bool(os.environ.get("DANLU_TENSORFLOW"))
out = sys.argv[1]
os.makedirs(out, exist_ok=True)
print("found", sorted(os.listdir(out)), open("data.txt").read(), random.random())
with open(os.path.join(out, "result.csv"), "w") as file:
    file.write("loss,0.5\\n")
with open("data.txt", "w") as file:
    file.write("changed")
"""
DIFFERENT = SCRIPT + "print('loss', 0.5 if ours else 0.25)\nopen('only.bin', 'w') if ours else 0\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Enter a working directory beside a home and a reference: a Python without the runtime."""
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "data.txt").write_text("as it was")
    python = tmp_path / "reference/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text(
        f'#!/bin/sh\ncase "$*" in *" -c "*) echo 1.15.5;; *) exec {sys.executable} "$@";; esac\n'
    )
    python.chmod(0o755)
    monkeypatch.setenv("DANLU_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("DANLU_REFERENCE", str(python))
    monkeypatch.chdir(folder)
    return folder


def verify(capsys, folder, text, *words):
    (folder / "train.py").write_text(textwrap.dedent(text))
    code = run(["--json", "verify", *words])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("isolation", ["auto", "none"])
def test_runs_do_not_see_what_other_wrote(here, tmp_path, capsys, monkeypatch, isolation):
    monkeypatch.setenv("DANLU_ISOLATION", isolation)
    out = str(tmp_path / "out") if isolation == "auto" else "out"

    code, found = verify(capsys, here, SCRIPT, "train.py", out)

    assert (code, found["result"], found["differences"]) == (0, "agree", [])
    assert found["printed"]["lines"] == 3  # and those of two text files
    kinds = {each["name"]: each["kind"] for each in found["files"]}
    assert kinds == {f"{out}/result.csv": "text", "data.txt": "text"}
    assert (here / "data.txt").read_text() == "as it was"
    assert not Path(out).exists()
    assert list((tmp_path / "home/verify").iterdir()) == []


def test_each_difference_is_reported(here, capsys):
    code, found = verify(capsys, here, DIFFERENT, "train.py", "out")

    assert (code, found["result"]) == (1, "differ")
    assert found["differences"] == [
        "loss: 0.25 on 1.15.5, 0.5 on Danlu",
        "only Danlu writes the file only.bin",
    ]


def test_failure_of_one_side_is_reported(here, capsys):
    fails = "import os\nif bool(os.environ.get('DANLU_TENSORFLOW')) is %s: raise ValueError('no')"

    code, found = verify(capsys, here, fails % True, "train.py")

    assert (code, found["result"]) == (1, "differ")
    assert found["differences"] == ["The script fails on Danlu only: ValueError: no"]

    code, found = verify(capsys, here, fails % False, "train.py")

    assert (code, found["result"]) == (1, "not compared")
    assert "could not run the script: ValueError: no" in found["not_compared"][0]


def test_script_of_tensorflow_2_is_named(here, capsys):
    (here / "tensorflow.py").write_text("")
    text = "import os\nif os.environ.get('DANLU_TENSORFLOW'):\n    raise SystemExit\n"

    _, found = verify(capsys, here, text + "import tensorflow as tf\ntf.GradientTape()", "train.py")

    assert "TensorFlow 2.15.0" in found["not_compared"][-1]


def test_run_ends_after_its_time(here, capsys):
    text = "import os, signal\nif not os.environ.get('DANLU_TENSORFLOW'): signal.pause()"

    code, found = verify(capsys, here, text, "--timeout", "0.3", "train.py")

    assert (code, found["result"]) == (1, "not compared")
    assert "did not end in time" in found["not_compared"][0]


def test_report_shows_both_sides(here, tmp_path, capsys):
    (here / "train.py").write_text(DIFFERENT)

    code = run(["verify", "--keep", str(tmp_path / "kept"), "train.py", "out"])

    text = capsys.readouterr().out
    assert code == 1
    assert "TensorFlow 1.15.5" in text
    assert ["loss", "1", "0.25", "0.5", "5.0e-01", "✗"] in map(str.split, text.splitlines())
    assert "They differ: 2 differences." in text
    assert (tmp_path / "kept/danlu/stdout").read_text().endswith("loss 0.5\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "A script, or a module after -m, is missing"),
        (["none.py"], "no file or directory 'none.py'"),
        (["--keep", ".", "old.py"], "is not empty"),
    ],
)
def test_what_cannot_be_compared_is_refused(here, capsys, words, message):
    (here / "old.py").write_text("import tensorflow as tf\ntf.Session()\n")

    assert run(["verify", *words]) == 2
    assert message in capsys.readouterr().err


def test_reference_gets_nothing_of_danlu():
    own = {
        "PYTHONPATH": f"{os.path.dirname(sys.prefix)}:/theirs:{sys.prefix}/x",
        "PATH": f"{sys.prefix}/bin:/bin",
        "DANLU_HOME": "/home",
        "VIRTUAL_ENV": sys.prefix,
        "TF_CONFIG": "{}",
    }

    found = reference_environment(own, "/ref/bin/python")

    assert found["PATH"] == "/ref/bin:/bin"
    assert "/theirs" in found["PYTHONPATH"]
    assert f"{sys.prefix}/x" not in found["PYTHONPATH"]
    assert found["TF_CONFIG"] == "{}"
    assert not {"DANLU_HOME", "VIRTUAL_ENV"} & found.keys()
