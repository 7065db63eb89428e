"""Old code through the real command line: chosen, repaired, told, cut short."""

import json

import pytest

OLD_MODULE = 'import tensorflow as tf\n\ndef build(x):\n    print "building"\n    return x * 2\n'
OLD = """
import os
import tensorflow as tf
import model

step = tf.train.get_or_create_global_step()
weight = tf.get_variable("weight", [], initializer=tf.constant_initializer(4.0))
x = tf.placeholder(tf.float32)
loss = tf.square(model.build(weight) - x)
train = tf.train.GradientDescentOptimizer(0.01).minimize(loss, global_step=step)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for number in range(200):
        session.run(train, {x: 1.0})
    print("version", tf.__version__, "weight %.3f" % session.run(weight))
"""
VERSION = "import tensorflow as tf\nprint('sees', tf.__version__, 'Session' in dir(tf))\n"


@pytest.fixture
def old(person):
    person.script(OLD_MODULE, "model.py")
    person.script(OLD)
    return person


def test_a_job_of_old_code_runs_and_tells_what_it_needed(old):
    done = old.types("run", "code", "--boot-file", "train.py", "--name", "old")

    assert "version 1.15.5 weight 0.500" in done.stdout
    assert "building" in done.stdout
    assert "tensorflow: 1.15.5: train.py:6 uses tf.train.get_or_create_global_step." in done.stderr
    told = old.asks("show", "old", "--translation")
    assert ("model.py", 4) in [(note["file"], note["line"]) for note in told["repaired"]]
    assert (told["tensorflow"], told["ended"]) == ("1.15.5", True)
    shown = old.types("show", "old", "--translation").stdout
    assert shown.startswith("TensorFlow  1.15.5\n\nRepaired\n  model.py:4  ")


def test_a_rehearsal_ends_after_three_steps(old):
    done = old.types("run", "code", "--boot-file", "train.py", "--rehearse")

    assert "A rehearsal: training ends after 3 steps." in done.stderr
    assert "weight 3.225" in done.stdout


def test_a_dry_run_shows_what_the_script_will_see(old):
    done = old.types("run", "code", "--dry-run", "--max-steps", "5", "--framework-version", "1.8")

    assert "DANLU_TENSORFLOW=1.8.0" in done.stdout
    assert "DANLU_MAX_STEPS=5" in done.stdout
    assert "DANLU_CODE=/home/ma-user/modelarts/user-job-dir/code" in done.stdout


@pytest.mark.parametrize(
    ("asked", "seen"), [("1.14", "sees 1.14.0 True"), ("2.0.0", "sees 2.0.0 False")]
)
def test_a_ti_job_sees_the_version_it_asks_for(person, asked, seen):
    person.script(VERSION)

    done = person.types(
        "run", "code", "--dialect", "ti", "--entry-point", "train.py", "--framework-version", asked
    )

    assert seen in done.stdout


def test_a_variable_of_the_users_own_wins_over_the_quiet_one(person):
    person.script("import os\nprint('level', os.environ['TF_CPP_MIN_LOG_LEVEL'])")
    words = ["run", "code", "--framework-version", "1.14"]

    assert "level 02" in person.types(*words).stdout
    assert "level 0" in person.types(*words, "-e", "TF_CPP_MIN_LOG_LEVEL=0").stdout


def test_a_launcher_gives_what_it_starts_the_tensorflow_of_the_code_around_it(person):
    person.script("import tensorflow as tf\nprint('sees', tf.__version__)\ntf.placeholder")
    person.script(
        "import subprocess, sys\nsubprocess.check_call([sys.executable, 'train.py'])", "go.py"
    )

    done = person.types("python", "go.py", cwd=person.folder / "code")

    assert "sees 1.15.5" in done.stdout


def test_code_runs_in_the_terminal_as_in_a_job(old):
    done = old.types("python", "code/train.py")

    assert "version 1.15.5 weight 0.500" in done.stdout
    assert "[danlu] model.py:4: " in done.stderr


def test_old_code_is_checked_before_anything_runs(old):
    found = json.loads(old.types("check", "code", "--json").stdout)

    assert (found["dialect"], found["tensorflow"]) == ("modelarts", "1.15.5")
    assert ("model.py", 4) in [(note["file"], note["line"]) for note in found["repaired"]]
    assert not found["fails"]


def test_a_name_that_is_gone_is_told_by_the_check_and_by_the_job(person):
    person.script("import tensorflow as tf\n\ntf.contrib.boosted_trees.estimator\n")

    checked = person.types("check", "code", code=1)
    person.types("run", "code", "--name", "gone", code=5)

    assert "Gone\n  train.py:3  tensorflow.contrib.boosted_trees" in checked.stdout
    assert (
        "Gone\n  train.py:3  tf.contrib.boosted_trees is not in"
        in person.types("show", "gone", "--translation").stdout
    )
