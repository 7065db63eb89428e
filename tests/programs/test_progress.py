"""A raw session loop with a FileWriter: its steps and its curves, with no change to it."""

SHARED_HOME = True

SCRIPT = """
import time

import tensorflow as tf

tf.app.flags.DEFINE_string("train_url", "", "")
tf.app.flags.DEFINE_boolean("wait", False, "")
FLAGS = tf.app.flags.FLAGS

weight = tf.Variable(4.0, name="weight")
loss = tf.square(weight)
global_step = tf.Variable(0, name="global_step", trainable=False)
with tf.control_dependencies([loss]):  # else a run may show the loss before or after its update
    train = tf.train.GradientDescentOptimizer(0.01).minimize(loss, global_step=global_step)
tf.summary.scalar("loss", loss)
merged = tf.summary.merge_all()
saver = tf.train.Saver()

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    writer = tf.summary.FileWriter(FLAGS.train_url + "/train", sess.graph)
    for i in range(ROUNDS):
        _, summary, step = sess.run([train, merged, global_step])
        writer.add_summary(summary, step)
        if FLAGS.wait:
            writer.flush()
            time.sleep(0.1)
    writer.close()
    saver.save(sess, FLAGS.train_url + "/model", global_step=global_step)
    print("saved", sess.run(weight) < 4)
FAIL
"""


def _run(person, rounds, *more, fails=False, code=0):
    text = SCRIPT.replace("ROUNDS", str(rounds))
    person.script(text.replace("FAIL", "raise ValueError('at the end')" if fails else ""))
    words = ["run", "code", "--train-url", "out", "--name", "mnist", *more]
    return person.types(*words, "--framework-version", "1.13", code=code)


def _points(person):
    (curve,) = person.asks("show", "mnist", "--curves")["curves"]
    assert (curve["run"], curve["tag"]) == ("train", "loss")
    return curve["points"]


def test_limited_loop_saves_and_has_its_curve(person):
    done = _run(person, 10_000, "--max-steps", "30")

    assert "saved True" in done.stdout
    assert (person.folder / "out" / "model-30.index").exists()
    assert "step 30/30" in person.types("show", "mnist").stdout
    job = person.asks("show", "mnist")
    assert (job["state"], job["steps"]["step"], job["steps"]["total"]) == ("succeeded", 30, 30)
    assert len(_points(person)) == 30
    first, last = person.types("show", "mnist", "--curves").stdout.splitlines()
    assert first.split()[:3] == ["RUN", "TAG", "FIRST"]
    assert last.split()[:3] == ["train", "loss", "16"]


def test_job_failed_after_training_keeps_its_curve(person):
    _run(person, 20, fails=True, code=5)

    job = person.asks("show", "mnist")
    assert (job["state"], job["steps"]["step"], job["steps"]["total"]) == ("failed", 20, None)
    assert len(_points(person)) == 20


def test_step_and_curve_are_seen_while_job_runs(alone):
    alone.env["DANLU_MIRROR_INTERVAL"] = "1"
    _run(alone, 10_000, "-p", "wait=true", "--detach")

    job = alone.waits_for(lambda: _training(alone), 240)
    assert job["steps"]["step"] >= 1
    assert "step " in alone.types("ls").stdout.splitlines()[1]
    alone.waits_for(lambda: alone.asks("show", "mnist", "--curves")["curves"], 240)
    alone.types("stop", "mnist", "--wait")
    assert len(_points(alone)) > 1


def _training(person):
    job = person.asks("show", "mnist")
    return job if job["steps"] else None
