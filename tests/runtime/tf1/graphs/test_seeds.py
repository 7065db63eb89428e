"""Seeded programs draw what they drew under TensorFlow 1.15.5 (``seeded_programs.py``)."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

spec = importlib.util.spec_from_file_location(
    "seeded_programs", Path(__file__).with_name("seeded_programs.py")
)
seeded_programs = importlib.util.module_from_spec(spec)
spec.loader.exec_module(seeded_programs)

RECORDED = json.loads(Path(__file__).with_name("seeded_programs.json").read_text())
DRAWN_LAST = ("result", "next result")  # computed from what was drawn


@pytest.mark.parametrize("name", RECORDED)
def test_seeded_program_draws_the_same(tf, name):
    program = getattr(seeded_programs, name)
    recorded, run = RECORDED[name], seeded_programs.run(tf, program)
    assert run["seeds"] == recorded["seeds"]
    assert run["operations"] == recorded["operations"]
    assert run["names"] == recorded["names"]
    assert sorted(run["values"]) == sorted(recorded["values"])
    for key, values in recorded["values"].items():
        drawn = np.array(run["values"][key], np.float32)
        expected = np.array(values, np.float32)
        if key in DRAWN_LAST:
            np.testing.assert_allclose(drawn, expected, rtol=1e-4, atol=1e-5)
        else:
            np.testing.assert_array_max_ulp(drawn, expected, maxulp=1)
