"""Hints for failures of TensorFlow were tried: after the change they name, the program runs."""

import re

import pytest

from hint_trials_tensorflow import CHANGES
from script_run import Stage, card


@pytest.mark.parametrize("key", CHANGES)
def test_program_runs_after_change_that_hint_names(tf, tmp_path, key):
    trial, code = CHANGES[key], key.partition(".")[0]
    fields = {"data_url": "obs://bucket/data"} if trial.data else {}

    cause = Stage(tmp_path / "a").asks(parameters=trial.before, **fields).provoke(trial.script)
    assert card(cause) == code, cause
    assert trial.hint in cause.card.en

    quoted = re.findall(r"`([^`]+)`", cause.card.en)
    fixed = trial.fixed.replace("{hint}", quoted[0] if quoted else "")
    stage = Stage(tmp_path / "b").asks(parameters=trial.after, **fields)
    with pytest.raises(AssertionError, match="nothing went wrong"):
        stage.provoke(fixed)
