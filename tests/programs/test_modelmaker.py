"""Files with ModelMaker's four functions, run as their users run them."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SHARED_HOME = True

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
FOUR = """
import tensorflow as tf
def model_fn(features, labels, mode, params): pass
def train_input_fn(path, params): pass
def eval_input_fn(path, params): pass
def serving_input_receiver_fn(): pass
"""


def submits(person, name, text):
    person.script(text, "mnist.py")
    job = 'dialect = "modelmaker"\ncode = "code"\nmodel_file = "mnist.py"\n'
    (person.folder / "job.toml").write_text(job + "[parameters]\ntrain_max_steps = 10\n")
    person.types("submit", "job.toml", "--name", name)
    return person.asks("wait", name, code=5)


def test_a_missing_function_is_the_cause(person):
    ended = submits(person, "three", FOUR.replace("def eval_input_fn", "def evaluate"))

    assert ended["reason"] == "script_failed"
    assert "mnist.py does not define eval_input_fn." in ended["cause"]["en"]


def test_example_learns_and_stores_its_model(person):
    shutil.copytree(EXAMPLES / "modelmaker", person.folder / "fruit")
    data = person.folder / "data"
    subprocess.run([sys.executable, person.folder / "fruit" / "make_data.py", data], check=True)

    done = person.types(
        "run", "fruit/model.py", "--data", "data", "--output", "model=out", "-p",
        "train_max_steps=200", "--name", "fruit",
    )  # fmt: skip

    assert done.returncode == 0
    assert "modelmaker" in done.stderr  # found by its four functions
    log = person.types("logs", "fruit").stdout
    accuracy = re.search(r"evaluation at step 200: accuracy ([0-9.]+)", log)
    assert float(accuracy[1]) > 0.9
    assert "the exported model answers serving_default: kind [32]" in log
    assert list(person.folder.glob("out/export/latest/*/saved_model.pb"))
    assert list(person.folder.glob("out/export/best/*/saved_model.pb"))


@pytest.mark.services
def test_compiled_steps_are_tried_on_request(person):
    shutil.copytree(EXAMPLES / "modelmaker", person.folder / "fruit")
    data = person.folder / "data"
    subprocess.run([sys.executable, person.folder / "fruit" / "make_data.py", data], check=True)

    done = person.types(
        "run", "fruit/model.py", "--data", "data", "--output", "model=out", "-p",
        "train_max_steps=200", "--name", "fast", "--env", "DANLU_XLA=1",
    )  # fmt: skip

    assert done.returncode == 0
    log = person.types("logs", "fast").stdout
    accuracy = re.search(r"evaluation at step 200: accuracy ([0-9.]+)", log)
    assert float(accuracy[1]) > 0.9
    # Which way is faster is measured: on a busy machine either may be.
    chosen = json.loads((person.folder / "out" / "danlu-steps.json").read_text())["xla"]
    assert ("steps are no longer compiled: " in log) is not chosen


def test_error_in_function_is_reported_with_users_line(person):
    broken = FOUR.replace(
        "def train_input_fn(path, params): pass", "def train_input_fn(path, params): return nothing"
    )

    ended = submits(person, "broken", broken)

    assert "NameError: name 'nothing' is not defined (mnist.py:4" in ended["cause"]["en"]
    assert "danlu_runtime" not in person.types("logs", "broken").stdout
