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
        reported = {
            "path": str(tmp_path),
            "model_dir": str(model),
            "parameters": {**SHORT, **params},
        }
        job.write_text(json.dumps(reported))
        drive(str(file), str(job))
        return model

    return drive


@pytest.fixture
def newest():
    """The newest export of a model."""
    return lambda model, name="latest": max((model / "export" / name).iterdir())


@pytest.fixture
def answer(tf):
    """Ask an exported model."""

    def ask(folder, feed, signature="serving_default"):
        with tf.Graph().as_default(), tf.Session() as session:
            loaded = tf.saved_model.loader.load(session, ["serve"], str(folder))
            found = loaded.signature_def[signature]
            feeds = {found.inputs[name].name: value for name, value in feed.items()}
            return session.run({n: info.name for n, info in found.outputs.items()}, feeds)

    return ask
