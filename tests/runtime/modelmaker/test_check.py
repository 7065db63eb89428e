"""The four functions of a file, found before anything runs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import danlu_runtime
from danlu.errors import Refused
from danlu.job.modelmaker import DEFAULTS
from danlu.taskdir.exchange_dir import ExchangeDir, Launch
from danlu_runtime.modelmaker import check, parameters_of

LAUNCHER = Path(danlu_runtime.__file__).with_name("launch.py")
FOUR = """
import no_such_library
def model_fn(features, labels, mode, params): pass
def train_input_fn(path, params): pass
def eval_input_fn(path, params): pass
def serving_input_receiver_fn(): pass
"""


@pytest.fixture
def drive(tmp_path):
    def run(source, parameters=None, beside=None):
        code = tmp_path / "code"
        code.mkdir()
        (code / "mnist.py").write_text(source)
        if beside is not None:
            (code / "parameters.json").write_text(beside)
        job = tmp_path / "job.json"
        job.write_text(json.dumps({"path": "/data", "parameters": parameters or {}}))
        box = ExchangeDir(tmp_path / "box")
        launch = Launch(str(code / "mnist.py"), (str(job),), False, (), str(code), functions=True)
        box.write_launch(launch)
        done = subprocess.run(
            [sys.executable, LAUNCHER, box.folder],
            check=False,
            cwd=code,
            capture_output=True,
            text=True,
        )
        return done, box.failure()

    return run


def test_a_missing_function_is_named_before_anything_else(drive):
    done, failure = drive(FOUR.replace("def eval_input_fn", "def evaluate_input_fn"))

    assert done.returncode == 1
    assert failure.message.startswith("mnist.py does not define eval_input_fn.")
    assert "serving_input_receiver_fn" in failure.message  # the names it should have
    assert "Traceback" not in done.stderr


def test_a_wrong_value_beside_the_file_is_reported(drive):
    _, failure = drive(FOUR, beside='{"eval_steps": "all"}')

    assert failure.message.startswith("parameters.json: eval_steps must be a whole number")


def test_non_python_file_is_reported_by_line(drive):
    _, failure = drive("def model_fn(:\n")

    assert (failure.exception, failure.where.file, failure.where.line) == (
        *("SyntaxError", "mnist.py", 1),
    )


@pytest.mark.parametrize(
    "source",
    [
        FOUR,
        FOUR.replace(
            "def model_fn(features, labels, mode, params): pass", "from net import model_fn"
        ),
        FOUR.replace("def eval_input_fn(path, params): pass", "eval_input_fn = train_input_fn"),
        "from everything import *",
        "try:\n    from a import model_fn\nexcept ImportError:\n    model_fn = None\n" + FOUR,
        "if True:\n" + FOUR.replace("\n", "\n    "),
    ],
)
def test_a_function_may_come_from_anywhere(source):
    check("mnist.py", source.encode(), "/mnist.py")


def test_a_method_is_no_function_of_the_file():
    source = "class Net:\n" + FOUR.replace("\n", "\n    ")

    with pytest.raises(Refused, match="does not define model_fn, train_input_fn, "):
        check("mnist.py", source.encode(), "/mnist.py")


def test_parameters_are_defaults_then_file_beside_then_jobs(tmp_path):
    (tmp_path / "parameters.json").write_text(
        '{"eval_steps": 1, "units": 64, "eval_throttle_secs": 5}'
    )

    params = parameters_of(str(tmp_path / "mnist.py"), {"units": 128, "eval_steps": None})

    assert params == {**DEFAULTS, "eval_steps": None, "units": 128, "eval_throttle_secs": 5}


@pytest.mark.parametrize("text", ["{", "[1]"])
def test_file_beside_that_is_no_table_is_refused(tmp_path, text):
    (tmp_path / "parameters.json").write_text(text)

    with pytest.raises(Refused, match=r"parameters\.json"):
        parameters_of(str(tmp_path / "mnist.py"), {})
