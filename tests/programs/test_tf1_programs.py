"""Whole training programs of TensorFlow 1 through the command line: each must have learned.

Their sources are in ``tf1/``, written in the manner of the services' documents and of the
tutorials of 2016 to 2019. Nothing in them knows of Danlu or of TensorFlow 2.
"""

import io
import json
import re
import shutil
import tarfile
from pathlib import Path

import pytest

from small_data import write_census, write_digits

SOURCES = Path(__file__).parent / "tf1"


def place(resident, name):
    """Copy a program into a folder of its own and return both folders."""
    home = resident.folder / name
    shutil.copytree(SOURCES / name, home / "code")
    return home


def train(resident, name, *words):
    """Run a program of ModelArts and return its log; its outputs are in ``out`` beside it."""
    home = place(resident, name)
    done = resident.types(
        "run", home / "code" / "train.py", "--name", name.replace("_", "-"),
        "--train-url", home / "out", *words,
    )  # fmt: skip
    return done.stdout


def number(pattern, log):
    """Return the number in a line of the log."""
    found = re.search(pattern, log)
    assert found, log
    return float(found[1])


def test_kdl_package_trains_with_its_own_session(resident):
    home = place(resident, "line")
    folders = {f"--{what}_path": home / what for what in ("checkpoint", "output", "model")}
    words = [word for pair in folders.items() for word in pair]

    done = resident.types(
        "run", home / "code", "--module", "trainer.task", "--name", "line", "--",
        "--max_epochs", "150", "--optimizer=adam", "--learning_rate=0.5", *words,
    )  # fmt: skip
    again = resident.types(
        "python", "-m", "trainer.task", "--max_epochs", "50", "--model_version=2", *words,
        cwd=home / "code",
    )  # fmt: skip

    assert number(r"Epoch: 150, loss: (\S+)", done.stdout) < 0.01
    assert "1 answers 16.0\nold/00000001 answers 16.0\n" in without_info(done.stdout)
    assert (home / "checkpoint" / "checkpoint").exists()
    assert "Continue from step 150\n" in again.stdout
    assert "2 answers 16.0\nold/00000002 answers 16.0\n" in again.stdout
    # TensorFlow greets with its devices, its libraries and its deprecations: nothing of it here.
    assert re.sub(r"\d+\.\d+", "…", without_info(done.stdout)).splitlines() == [
        *(f"Epoch: {epoch}, loss: …" for epoch in (50, 100, 150)),
        "Line: … x + …",
        "1 answers …",
        "old/00000001 answers …",
    ]


def test_default_kdl_folders_are_beside_started_module(resident):
    code = resident.folder / "started here"
    shutil.copytree(SOURCES / "line", code)

    resident.types("python", "-m", "trainer.task", "--max_epochs", "50", cwd=code)

    # The manual writes checkpoint_path + '/model.ckpt': a doubled slash with its own default.
    assert (code / "checkpoint" / "model.ckpt-50.index").exists()
    assert list((code / "tensorboard").rglob("events.out.tfevents.*"))
    assert (code / "model" / "1" / "saved_model.pb").exists()


def without_info(log):
    """Remove TensorFlow's messages about the script's own exports."""
    return re.sub(r"^.*INFO:tensorflow:.*\n", "", log, flags=re.MULTILINE)


@pytest.mark.smoke
def test_the_tutorial_of_digits_trains(resident):
    data = write_digits(resident.folder / "mnist")

    log = train(resident, "digits", "--data-url", data, "-p", "max_steps=120")

    assert "train 400 validation 5000\n" in log
    assert number(r"Done training! accuracy is: (\S+)", log) > 0.9
    out = resident.folder / "digits" / "out"
    assert (out / "model" / "saved_model.pb").read_bytes().count(b"predict_images") == 1
    assert list(out.glob("events.out.tfevents.*"))


def test_second_job_exports_to_place_of_first(resident):
    """SavedModelBuilder refuses a folder that exists; each job has an output of its own."""
    code = resident.folder / "exports"
    code.mkdir()
    (code / "train.py").write_text(
        "import os, sys\n"
        "import tensorflow as tf\n"
        "tf.flags.DEFINE_string('train_url', None, '')\n"
        "tf.flags.DEFINE_integer('value', 0, '')\n"
        "FLAGS = tf.flags.FLAGS\n"
        "w = tf.Variable(float(FLAGS.value), name='w')\n"
        "with tf.Session() as sess:\n"
        "  sess.run(tf.global_variables_initializer())\n"
        "  place = os.path.join(FLAGS.train_url, 'model')\n"
        "  builder = tf.saved_model.builder.SavedModelBuilder(place)\n"
        "  builder.add_meta_graph_and_variables(sess, [tf.saved_model.tag_constants.SERVING])\n"
        "  builder.save()\n"
        "  tf.train.Saver().save(sess, os.path.join(FLAGS.train_url, 'w.ckpt'))\n"
        "print('value', tf.train.load_variable(FLAGS.train_url, 'w'))\n"
    )
    words = ["run", code / "train.py", "--train-url", "obs://exports/out"]

    resident.types(*words, "--name", "export-1", "-p", "value=1")
    again = resident.types(*words, "--name", "export-2", "-p", "value=2")

    assert "value 2.0\n" in again.stdout
    found = resident.asks("store", "ls", "-r", "obs://exports/out")["objects"]
    assert "model/saved_model.pb" in [item["name"] for item in found]


def test_estimator_of_ti_trains_and_serves_two_heads(resident):
    home = place(resident, "census")
    write_census(home / "train", 400, seed=0)
    write_census(home / "test", 120, seed=1)
    words = [
        "run", home / "code", "--dialect", "ti", "--entry-point", "train.py",
        "--framework-version", "1.14", "--channel", f"train={home / 'train'}",
        "--channel", f"test={home / 'test'}", "--output-path", home / "out",
    ]  # fmt: skip

    done = resident.types(*words, "-p", "hidden=12", "--name", "census")
    short = resident.types(*words, "--max-steps", "4", "--name", "short")

    output = home / "out" / "census" / "output"
    metrics = json.loads((output / "data" / "metrics.json").read_text())
    assert metrics["accuracy"] > 0.9
    assert metrics["error"] < 0.15
    assert number(r"rich (\S+) happy", done.stdout) > 0.8
    assert number(r"happy (\S+)", done.stdout) == pytest.approx(50 / 65, abs=0.25)
    with tarfile.open(fileobj=io.BytesIO((output / "model.tar.gz").read_bytes())) as archive:
        assert [Path(name).name for name in archive.getnames()].count("saved_model.pb") == 1
    assert json.loads((home / "out/short/output/data/metrics.json").read_text())[
        "global_step"
    ] == 4  # fmt: skip
    assert "rich " in short.stdout


def test_a_small_resnet_of_slim_trains(resident):
    log = train(resident, "resnet", "-p", "steps=40")

    assert "end points" in log
    assert number(r"last loss (\S+)", log) < 0.4
    assert number(r"test accuracy (\S+)", log) > 0.9
    assert (resident.folder / "resnet" / "out" / "model.ckpt-40.index").exists()


def test_recurrent_cells_learn_a_wave(resident):
    log = train(resident, "waves")

    assert "model/rnn/multi_rnn_cell/cell_1/basic_lstm_cell/kernel:0 (48, 96)\n" in log
    assert number(r"step 0 loss (\S+)", log) > 0.2
    assert number(r"test loss (\S+)", log) < 0.03


def test_generator_and_its_critic_train_by_two_optimizers(resident):
    log = train(resident, "gan")

    assert "variables: 4 and 4\n" in log
    assert abs(number(r"before: mean (\S+)", log)) < 2
    assert number(r"after: mean (\S+)", log) == pytest.approx(4, abs=0.8)


def test_records_are_read_through_queues_to_their_end(resident):
    log = train(resident, "records")

    assert "Done training for 100 steps" in log
    assert number(r"accuracy of the last ten batches (\S+)", log) > 0.9
    assert "cancel" not in log.lower()


def test_a_supervisor_goes_on_from_its_checkpoint(resident):
    log = train(resident, "supervised")

    assert "begins at step 0\n" in log
    assert "begins at step 100\n" in log
    assert number(r"step 300 loss (\S+)", log) < 0.001
    assert (resident.folder / "supervised" / "out" / "model.ckpt-300.index").exists()


def test_keras_of_tensorflow_trains_in_a_graph(resident):
    log = train(resident, "keras_functional")

    assert "history ['acc', 'loss', 'val_acc', 'val_loss']\n" in log
    assert number(r"accuracy (\S+)", log) > 0.85
    assert number(r"rate (\S+)", log) == pytest.approx(0.02 * 0.95**12, abs=1e-4)
    assert "eager False same True\n" in log
    assert (resident.folder / "keras_functional" / "out" / "frozen.pb").stat().st_size > 1000


def test_keras_as_a_package_of_its_own_trains(resident):
    log = train(resident, "keras_alone")

    assert "Epoch 6/6\n" in log
    assert number(r"keras 2\.\d+\.\d+ accuracy (\S+)", log) > 0.9


def test_a_package_of_python_2_trains(resident):
    home = place(resident, "words_in_python2")

    done = resident.types(
        "run", home / "code", "--module", "trainer.task", "--name", "words",
        "--", "--epochs=10",
    )  # fmt: skip

    assert "word 0 is sun\nword 1 is rain\n" in done.stdout
    assert "half 60 batches 3\n" in done.stdout  # 7 / 2 is 3 there
    assert number(r"loss (\S+)", done.stdout) < 0.1
    assert "right 60 of 60\n" in done.stdout
    files = {n["file"] for n in resident.asks("show", "words", "--translation")["repaired"]}
    assert files == {"trainer/reader.py", "trainer/task.py"}


def test_a_monitored_session_runs_its_hooks_and_saves(resident):
    log = train(resident, "monitored")

    assert number(r"first loss (\S+),", log) > 0.3
    assert number(r"last loss (\S+)", log) < 0.25
    assert "saved 150\n" in log
    assert re.search(r"loss = \S+, step = 51", log)


def test_tags_are_learned_by_lstms_and_a_crf(resident):
    log = train(resident, "tags")

    assert number(r"step 0 loss (\S+)", log) > 3
    assert number(r"accuracy (\S+)", log) > 0.9
