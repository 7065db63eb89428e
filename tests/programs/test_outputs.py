"""Trainings on an output that was used before, through the command line."""

import os
import signal

import pytest

SHARED_HOME = True

SAVER = """
import argparse, os, time
import tensorflow as tf
parser = argparse.ArgumentParser()
parser.add_argument("--train_url")
parser.add_argument("--steps", type=int, default=4)
parser.add_argument("--fresh", default="")
flags, _ = parser.parse_known_args()
step = tf.train.get_or_create_global_step()
add = tf.assign_add(step, 1)
saver = tf.train.Saver(max_to_keep=2)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    last = tf.train.latest_checkpoint(flags.train_url)
    if last and not flags.fresh:
        saver.restore(session, last)
    print("begins at %d" % session.run(step), sorted(os.listdir(flags.train_url)), flush=True)
    if flags.fresh and os.environ["DANLU_ATTEMPT"] == "1":
        time.sleep(600)
    for _ in range(flags.steps):
        session.run(add)
        saver.save(session, os.path.join(flags.train_url, "model.ckpt"), global_step=step)
"""


def names(person, uri):
    return [item["name"] for item in person.asks("store", "ls", "-r", uri)["objects"]]


def checkpoints(*steps):
    parts = ("data-00000-of-00001", "index", "meta")
    return sorted(f"model.ckpt-{step}.{part}" for step in steps for part in parts)


@pytest.mark.services
def test_saver_continues_from_the_previous_job(resident):
    script = resident.script(SAVER)
    uri = "obs://outputs/saver"
    run = ("run", script, "--train-url", uri)

    first = resident.types(*run, "--name", "saver-1")
    stored = names(resident, uri)
    second = resident.types(*run, "--name", "saver-2")

    assert "begins at 0 []" in first.stdout
    assert stored == ["checkpoint", *checkpoints(3, 4)]  # max_to_keep=2
    assert "begins at 4 [" in second.stdout
    assert names(resident, uri) == ["checkpoint", *sorted(checkpoints(3, 4, 7, 8))]

    resident.types("restore", "saver-2")
    third = resident.types(*run, "--name", "saver-3", "-p", "steps=1")
    assert "begins at 4 [" in third.stdout  # as if the second had not been


@pytest.mark.services
def test_killed_attempt_keeps_the_start_state(resident):
    script = resident.script(SAVER)
    uri = "obs://outputs/killed"
    run = ("run", script, "--train-url", uri)
    resident.types(*run, "--name", "killed-1")

    job = resident.asks(*run, "--name", "killed-2", "-p", "fresh=1", "--detach")
    resident.waits_for(lambda: "begins at" in resident.types("logs", "killed-2").stdout)
    before = resident.types("logs", "killed-2").stdout
    for pid in resident.processes_of(job):
        os.kill(pid, signal.SIGKILL)
    resident.types("wait", "killed-2")
    after = resident.types("logs", "killed-2", "--attempt", "2").stdout

    (found,) = [line for line in before.splitlines() if "begins at" in line]
    assert found in after
    assert set(checkpoints(3, 4)) <= set(names(resident, uri))


WRITER = """
import argparse
import moxing as mox
parser = argparse.ArgumentParser()
parser.add_argument("--model_path")
parser.add_argument("--text")
flags = parser.parse_args()
mox.file.write(flags.model_path + "/model", flags.text)
"""


def test_files_replaced_by_kdl_job_are_restored(resident, tmp_path):
    package = tmp_path / "code" / "trainer"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "task.py").write_text(WRITER)
    run = ("run", package.parent, "--module", "trainer.task", "-p", "model_path=ks3://kdl/out")

    resident.types(*run, "--name", "kdl-1", "-p", "text=first")
    resident.types(*run, "--name", "kdl-2", "-p", "text=second")
    resident.types("restore", "kdl-2")
    resident.types("store", "cp", "ks3://kdl/out/model", tmp_path / "model")

    assert (tmp_path / "model").read_text() == "first"


IN_CODE = """
import os
import moxing as mox
with open("model.h5", "w") as file:
    file.write(os.environ["TEXT"])
mox.file.copy("model.h5", "obs://code-url/models/model.h5")
print("copied", flush=True)
"""


def test_files_replaced_at_literal_url_are_restored(resident, tmp_path):
    script = resident.script(IN_CODE, "copies.py")
    run = ("run", script, "--dialect", "modelarts")

    resident.types(*run, "--name", "code-1", "--env", "TEXT=first")
    second = resident.types(*run, "--name", "code-2", "--env", "TEXT=second")
    resident.types("restore", "code-2")
    resident.types("store", "cp", "obs://code-url/models/model.h5", tmp_path / "model")

    assert "obs://code-url/models/: this job replaced or removed objects" in second.stderr
    assert "danlu restore code-2" in second.stderr
    assert (tmp_path / "model").read_text() == "first"


def test_rm_asks_before_it_removes_the_only_copy(resident):
    script = resident.script("open('model.h5', 'w').write('weights')", "leaves.py")
    resident.types("run", script, "--dialect", "modelarts", "--name", "left")

    code, shown = resident.answers("rm", "left", with_="n")
    assert code != 0
    assert "1 file of a model in the working directory of left" in shown
    assert "[y/N]" in shown
    assert resident.asks("show", "left")["name"] == "left"

    code, _ = resident.answers("rm", "left", with_="y")
    assert code == 0
    resident.types("show", "left", code=3)


# The first checkpoint is in the store before the last is written, and removed there afterwards.
WAITS = """
import argparse, os, time
import moxing as mox
import tensorflow as tf
parser = argparse.ArgumentParser()
parser.add_argument("--data_url")
parser.add_argument("--train_url")
folder = parser.parse_known_args()[0].train_url
os.makedirs(folder, exist_ok=True)

def wait_for_store(step):
    # Neither saver removes the first checkpoint before step 20.
    while step == 5 and not mox.file.exists(os.environ["STORE"] + "/model.ckpt-0.index"):
        time.sleep(0.05)
"""
KEEPS_TWO = (
    WAITS
    + """
class Waits(tf.train.SessionRunHook):
    def before_run(self, context):
        return tf.train.SessionRunArgs(tf.train.get_global_step())
    def after_run(self, context, values):
        wait_for_store(values.results)

def input_fn():
    return tf.data.Dataset.from_tensors(({"x": [[1.0]]}, [[3.0]])).repeat()

config = tf.estimator.RunConfig(save_checkpoints_steps=10, keep_checkpoint_max=2)
columns = [tf.feature_column.numeric_column("x")]
model = tf.estimator.LinearRegressor(columns, model_dir=folder, config=config)
model.train(input_fn, steps=60, hooks=[Waits()])
"""
)
KEEPS_FIVE = (
    WAITS
    + """
import moxing.tensorflow as mox_tf

class Waits(mox_tf.AggregativeSessionRunHook):
    def support_aggregation(self):
        return False
    def support_sync_workers(self):
        return False
    def run_inter_mode(self):
        return False
    def before_run(self, context):
        return tf.train.SessionRunArgs(tf.train.get_global_step())
    def after_run(self, context, values):
        wait_for_store(values.results)

def input_fn(mode, **kwargs):
    x = tf.random_normal([3])
    return x, tf.reduce_sum(x)

def model_fn(inputs, mode, **kwargs):
    x, y = inputs
    loss = tf.losses.mean_squared_error(y, tf.squeeze(tf.layers.dense(x, 1), 1))
    return mox_tf.ModelSpec(loss=loss, log_info={"loss": loss}, hooks=[Waits()])

mox_tf.run(input_fn=input_fn, model_fn=model_fn,
           optimizer_fn=mox_tf.get_optimizer_fn("sgd", learning_rate=0.1),
           run_mode=mox_tf.ModeKeys.TRAIN, batch_size=4, max_number_of_steps=80,
           save_model_steps=10, log_dir=folder)
"""
)


@pytest.mark.parametrize(
    ("text", "words", "kept"),
    [
        (KEEPS_TWO, ("--dialect", "modelarts"), 2),
        (KEEPS_FIVE, ("--dialect", "dls"), 5),
        (KEEPS_FIVE, ("--dialect", "dls", "--nodes", "2"), 5),
    ],
    ids=["estimator", "mox", "nodes"],
)
def test_store_keeps_as_many_checkpoints_as_script(alone, text, words, kept):
    alone.env["DANLU_MIRROR_INTERVAL"] = "0.2"
    uri = "obs://outputs/kept"
    alone.types(
        "run", alone.script(text), *words, "--train-url", uri, "--env", f"STORE={uri}",
    )  # fmt: skip

    found = names(alone, uri)
    steps = [name.split("-")[1].split(".")[0] for name in found if name.endswith(".index")]
    assert len(steps) == kept
    assert "0" not in steps
    assert sorted(checkpoints(*steps)) == [name for name in found if "model.ckpt-" in name]
    alone.types("store", "cp", f"{uri}/checkpoint", "checkpoint")
    assert all(f"model.ckpt-{n}" in (alone.folder / "checkpoint").read_text() for n in steps)
