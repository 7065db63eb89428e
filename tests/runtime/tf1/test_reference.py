"""Small programs give the numbers of the real TensorFlow 1.15.5, recorded or run here."""

import importlib.util
import json
import os
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
RECORDED = FOLDER / "reference_values.json"
spec = importlib.util.spec_from_file_location("reference_cases", FOLDER / "reference_cases.py")
reference = importlib.util.module_from_spec(spec)
spec.loader.exec_module(reference)


def close(found, wanted):
    if isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(close, found, wanted))
    return found == (wanted if isinstance(wanted, str) else pytest.approx(wanted, 1e-4, 1e-5))


def differing(tf, values):
    found = {name: reference.run(tf, name) for name in reference.cases()}
    assert sorted(found) == sorted(values)
    return {name: value for name, value in found.items() if not close(value, values[name])}


def test_programs_give_recorded_numbers(tf):
    assert differing(tf, json.loads(RECORDED.read_text())) == {}


def test_programs_give_numbers_of_reference(tf, tmp_path):
    python = os.environ.get("DANLU_REFERENCE", "")
    if not python:
        pytest.skip("DANLU_REFERENCE names no Python with TensorFlow 1.15.5")
    command = [python, "-E", str(FOLDER / "reference_cases.py"), str(tmp_path / "values.json")]
    drop = ("PYTHONPATH", "DANLU_TENSORFLOW", "DANLU_CODE")
    env = {name: value for name, value in os.environ.items() if name not in drop}
    subprocess.run(command, env=env, check=True, capture_output=True)

    assert differing(tf, json.loads((tmp_path / "values.json").read_text())) == {}
