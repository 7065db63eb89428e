"""A whole program of 2017 under ``danlu python``: what it writes is stored, and loads again."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import danlu

PROGRAM = Path(danlu.__file__).parent / "cli" / "demo" / "kdl"
AGAIN = """
import tensorflow as tf
newest = tf.train.latest_checkpoint("ks3://bucket/ckpt/")
print(newest, tf.train.load_variable(newest, "global_step"))
with tf.Session(graph=tf.Graph()) as session:
    model = tf.saved_model.loader.load(session, ["serve"], "ks3://bucket/model/1")
    signature = model.signature_def["serving_default"]
    x, y = signature.inputs["x"].name, signature.outputs["y"].name
    print(round(float(session.run(y, {x: [[2.0]]})[0, 0])))
(events,) = tf.gfile.Glob("ks3://bucket/log/events.out.tfevents.*")
print(len([event for event in tf.train.summary_iterator(events) if event.summary.value]))
"""


def test_a_trainer_of_kdl_lives_on_ks3(programs: Any, home: Path, tmp_path: Path) -> None:
    shutil.copytree(PROGRAM, tmp_path / "kdl")
    command = [str(Path(sys.executable).with_name("danlu")), "python", "-m", "trainer.task"]
    places = {"checkpoint_path": "ckpt/", "output_path": "log", "model_path": "model"}
    words = [f"--{name}=ks3://bucket/{place}" for name, place in places.items()]
    subprocess.run(
        [*command, "--max_epochs=300", "--learning_rate=0.1", *words],
        cwd=tmp_path / "kdl",
        check=True,
        capture_output=True,
    )
    output, _ = programs.run(AGAIN)
    assert output.splitlines() == ["ks3://bucket/ckpt/model.ckpt-300 300", "5", "300"]
    assert not (tmp_path / "kdl" / "ks3:").exists()
