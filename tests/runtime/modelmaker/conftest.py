"""A ModelMaker file is driven in the process of the test."""

import json

import pytest

SHORT = {
    "train_max_steps": 120,
    "save_checkpoints_steps": 60,
    "eval_start_delay_secs": 0,
    "eval_throttle_secs": 0,
}


@pytest.fixture
def train(tmp_path):
    """Drive a file; return the folder of the model."""

    def drive(source, **params):
        from danlu_runtime.modelmaker import drive

        file = tmp_path / "model.py"
        file.write_text(source)
        job, model = tmp_path / "job.json", tmp_path / "model"
        told = {"path": str(tmp_path), "model_dir": str(model), "parameters": {**SHORT, **params}}
        job.write_text(json.dumps(told))
        drive(str(file), str(job))
        return model

    return drive
