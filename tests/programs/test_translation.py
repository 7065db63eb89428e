"""Old code through the real command line: version, repairs, report, step limit."""

import json

import pytest

SHARED_HOME = True

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


def test_job_of_old_code_reports_its_repairs(old):
    done = old.types("run", "code", "--boot-file", "train.py", "--name", "old")

    assert "version 1.15.5 weight 0.500" in done.stdout
    assert "building" in done.stdout
    assert "tensorflow: 1.15.5: train.py:6 uses tf.train.get_or_create_global_step." in done.stderr
    reported = old.asks("show", "old", "--translation")
    assert ("model.py", 4) in [(note["file"], note["line"]) for note in reported["repaired"]]
    assert (reported["tensorflow"], reported["ended"]) == ("1.15.5", True)
    shown = old.types("show", "old", "--translation").stdout
    assert shown.startswith("TensorFlow  1.15.5\n\nRepaired\n  model.py:4  ")


def test_a_rehearsal_ends_after_three_steps(old):
    done = old.types("run", "code", "--boot-file", "train.py", "--rehearse")

    assert "max_steps: training ends after 3 steps." in done.stderr
    assert "weight 3.225" in done.stdout


@pytest.mark.smoke
def test_dry_run_shows_what_script_will_see(old):
    done = old.types("run", "code", "--dry-run", "--max-steps", "5", "--framework-version", "1.8")

    assert "DANLU_TENSORFLOW=1.8.0" in done.stdout
    assert "DANLU_MAX_STEPS=5" in done.stdout
    assert "DANLU_CODE=/home/ma-user/modelarts/user-job-dir/code" in done.stdout


@pytest.mark.parametrize(
    ("asked", "seen"), [("1.14", "sees 1.14.0 True"), ("2.0.0", "sees 2.0.0 False")]
)
def test_ti_job_sees_version_it_asks_for(person, asked, seen):
    person.script(VERSION)

    done = person.types(
        "run", "code", "--dialect", "ti", "--entry-point", "train.py", "--framework-version", asked
    )

    assert seen in done.stdout


def test_variable_of_users_own_wins_over_quiet_one(person):
    person.script("import os\nprint('level', os.environ['TF_CPP_MIN_LOG_LEVEL'])")
    words = ["run", "code", "--framework-version", "1.14"]

    assert "level 02" in person.types(*words).stdout
    assert "level 0" in person.types(*words, "-e", "TF_CPP_MIN_LOG_LEVEL=0").stdout


def test_launcher_passes_on_tensorflow_version_of_code(person):
    person.script("import tensorflow as tf\nprint('sees', tf.__version__)\ntf.placeholder")
    person.script(
        "import subprocess, sys\nsubprocess.check_call([sys.executable, 'train.py'])", "go.py"
    )

    done = person.types("python", "go.py", cwd=person.folder / "code")

    assert "sees 1.15.5" in done.stdout


def test_code_runs_in_terminal_as_in_job(old):
    done = old.types("python", "code/train.py")

    assert "version 1.15.5 weight 0.500" in done.stdout
    assert "[danlu] model.py:4: " in done.stderr


def test_old_code_is_checked_before_anything_runs(old):
    found = json.loads(old.types("check", "code", "--json").stdout)

    assert (found["dialect"], found["tensorflow"]) == ("modelarts", "1.15.5")
    assert ("model.py", 4) in [(note["file"], note["line"]) for note in found["repaired"]]
    assert not found["fails"]


def test_removed_name_is_reported_by_check_and_job(person):
    person.script("import tensorflow as tf\n\ntf.contrib.boosted_trees.estimator\n")

    checked = person.types("check", "code", code=1)
    person.types("run", "code", "--name", "gone", code=5)

    assert "Gone\n  train.py:3  tensorflow.contrib.boosted_trees" in checked.stdout
    assert (
        "Gone\n  train.py:3  tf.contrib.boosted_trees is not in"
        in person.types("show", "gone", "--translation").stdout
    )
