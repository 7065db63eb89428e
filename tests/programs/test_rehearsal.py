"""Rehearsals of whole programs beside the model of a real training."""

import shutil

import pytest

SHARED_HOME = True

PLAIN = """
import argparse, os
parser = argparse.ArgumentParser()
parser.add_argument("--train_url")
parser.add_argument("--text")
args = parser.parse_args()
print("found", sorted(os.listdir(args.train_url)))
with open(os.path.join(args.train_url, "model.txt"), "w") as file:
    file.write(args.text)
"""
SAVER = """
import tensorflow as tf
tf.flags.DEFINE_string("data_url", "", "")
tf.flags.DEFINE_string("train_url", "", "")
tf.flags.DEFINE_integer("steps", 20, "")
flags = tf.flags.FLAGS
weight = tf.get_variable("weight", initializer=0.0)
step = tf.train.get_or_create_global_step()
train = tf.train.GradientDescentOptimizer(1.0).minimize(weight * 1.0, global_step=step)
saver = tf.train.Saver(max_to_keep=1)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    newest = tf.train.latest_checkpoint(flags.train_url)
    if newest:
        saver.restore(session, newest)
        saver.recover_last_checkpoints(
            tf.train.get_checkpoint_state(flags.train_url).all_model_checkpoint_paths)
    print("begins at step", session.run(step))
    for _ in range(flags.steps):
        session.run(train)
    saver.save(session, flags.train_url + "/model.ckpt", global_step=step)
    print("weight", session.run(weight))
"""
KERAS = """
import argparse, os
import numpy as np
import tensorflow as tf
parser = argparse.ArgumentParser()
parser.add_argument("--train_url")
args = parser.parse_args()
ones = np.ones((640, 1), "float32")
layer = tf.keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros")
model = tf.keras.Sequential([tf.keras.Input((1,)), layer])
model.compile(tf.keras.optimizers.SGD(1.0), lambda _, y: y)
history = model.fit(ones, ones, batch_size=4, epochs=100, validation_split=0.1, verbose=0)
print("weight", float(model.get_weights()[0][0, 0]), "epochs", len(history.history["val_loss"]))
model.save(os.path.join(args.train_url, "model.keras"))
"""


def stored(person, uri):
    """Return every object below a place with its bytes."""
    person.types("store", "cp", "-r", uri, person.folder / "copy")
    files = (person.folder / "copy").rglob("*")
    found = {file.name: file.read_bytes() for file in files if file.is_file()}
    shutil.rmtree(person.folder / "copy")
    return found


def test_a_rehearsal_leaves_the_real_model_alone(person):
    person.script(PLAIN)
    run = ("run", "code", "--train-url", "obs://bucket/out", "--framework-version", "none")
    person.types(*run, "-p", "text=the real model")

    done = person.types(*run, "-p", "text=a rehearsal", "--rehearse", "--name", "short")

    assert person.types("store", "cat", "obs://bucket/out/model.txt").stdout == "the real model"
    job = person.asks("show", "short")
    scratch = job["spec"]["outputs"]["train_url"]
    assert f"  train_url: {scratch}\n" in done.stderr
    assert "short succeeded in" in done.stderr
    assert "(a rehearsal; its outputs are removed with the job)" in done.stderr
    assert job["shortened"] == {"steps": 0, "rehearsal": True}
    assert person.types("store", "cat", f"{scratch}/model.txt").stdout == "a rehearsal"
    person.types("rm", "short")
    person.types("store", "cat", f"{scratch}/model.txt", code=3)


def test_rehearsal_on_used_train_url_replaces_no_checkpoint(person):
    person.script(SAVER)
    run = ("run", "code", "--dialect", "dls", "--train-url", "obs://bucket/log", "--urls")
    person.types(*run, "train_url")
    real = stored(person, "obs://bucket/log")
    assert "model.ckpt-20.index" in real

    done = person.types(*run, "train_url", "--rehearse", "--name", "short")

    assert "begins at step 20" in done.stdout  # it reads what is there
    assert "weight -23.0" in done.stdout
    assert stored(person, "obs://bucket/log") == real
    scratch = person.asks("show", "short")["spec"]["outputs"]["train_url"]
    assert "model.ckpt-23.index" in stored(person, scratch)
    assert "(a rehearsal of 3 steps; its outputs are removed with the job)" in done.stderr


@pytest.mark.parametrize("version", ["2.10", "2.18"])
def test_a_rehearsal_of_keras_ends_after_three_batches(person, version):
    person.script(KERAS)

    done = person.types("run", "code", "--train-url", "obs://bucket/keras", "--rehearse",
                        "--framework-version", version, "--name", "short")  # fmt: skip

    assert "weight -3.0 epochs 1" in done.stdout
    scratch = person.asks("show", "short")["spec"]["outputs"]["train_url"]
    assert "model.keras" in stored(person, scratch)
