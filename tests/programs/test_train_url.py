"""Several jobs on one ``train_url`` of DLS, as in chapter 6 of the MoXing manual."""

import re

import pytest

from contracts.s3_server import SmallS3, endpoint, serve

SHARED_HOME = True

MOX = """\
import tensorflow as tf
import moxing.tensorflow as mox

tf.flags.DEFINE_string('data_url', '', '')
tf.flags.DEFINE_string('train_url', None, '')
tf.flags.DEFINE_integer('steps', 10, '')
tf.flags.DEFINE_string('mode', 'TRAIN', '')
tf.flags.DEFINE_boolean('export', False, '')
FLAGS = tf.flags.FLAGS


def input_fn(mode, **kwargs):
    x = tf.random_normal([3])
    return x, tf.reduce_sum(x)


def model_fn(inputs, mode, **kwargs):
    x, y = inputs
    p = tf.squeeze(tf.layers.dense(x, 1), 1)
    loss = tf.losses.mean_squared_error(y, p)
    return mox.ModelSpec(
        loss=loss, log_info={'loss': loss}, output_info={'p': p},
        export_spec=mox.ExportSpec(inputs_dict={'x': x}, outputs_dict={'p': p}))


mox.run(input_fn=input_fn, model_fn=model_fn,
        optimizer_fn=mox.get_optimizer_fn('sgd', learning_rate=0.1),
        output_fn=lambda outputs: print('outputs', len(outputs)), output_every_n_steps=5,
        run_mode=getattr(mox.ModeKeys, FLAGS.mode), batch_size=4,
        max_number_of_steps=FLAGS.steps, log_dir=FLAGS.train_url, log_every_n_steps=5,
        save_summary_steps=5,
        export_model=mox.ExportKeys.TF_SERVING if FLAGS.export else None)
"""

SAVER = """\
import argparse, os
import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument('--data_url')
parser.add_argument('--train_url')
args = parser.parse_args()
log_dir = args.train_url
w = tf.get_variable('w', [])
step = tf.train.get_or_create_global_step()
loss = tf.square(w - 3)
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step)
tf.summary.scalar('loss', loss)
saver = tf.train.Saver(max_to_keep=2)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    last = tf.train.latest_checkpoint(log_dir)
    if last:
        saver.restore(sess, last)
        print('restored', last)
    writer = tf.summary.FileWriter(os.path.join(log_dir, 'summary'), sess.graph)
    merged = tf.summary.merge_all()
    for _ in range(6):
        _, summary, now = sess.run([train, merged, step])
        writer.add_summary(summary, now)
        saver.save(sess, os.path.join(log_dir, 'model.ckpt'), global_step=step)
"""

ESTIMATOR = """\
import tensorflow as tf

tf.flags.DEFINE_string('data_url', '', '')
tf.flags.DEFINE_string('train_url', '', '')


def input_fn():
    return tf.data.Dataset.from_tensors(({'x': [[1.0]]}, [[3.0]])).repeat()


def main(_):
    columns = [tf.feature_column.numeric_column('x')]
    model = tf.estimator.LinearRegressor(columns, model_dir=tf.flags.FLAGS.train_url)
    model.train(input_fn, steps=5)


tf.app.run()
"""

# The value reaches `open` in a way that no look at the code can follow.
UNSEEN = """\
import sys

values = dict(word[2:].split('=', 1) for word in sys.argv[1:])
with open('/'.join([values['train' + '_url'], 'model.txt']), 'w') as file:
    file.write('trained')
"""


def runs(person, text, *words):
    return person.types("run", person.script(text), "--dialect", "dls", *words)


def test_jobs_of_every_mode_continue_at_train_url(person):
    where = "s3://bucket/log"
    first = runs(person, MOX, "--train-url", where, "-p", "export=True", "--name", "first")
    assert f"Saving checkpoints for 10 into {where}/model.ckpt." in first.stdout
    assert (
        f"train_url: passed as the URL {where}: train.py:30 passes it to mox.run, and no line of "
        "the code needs a local path. Set --urls to change this."
    ) in first.stderr

    second = runs(person, MOX, "--train-url", where, "-p", "export=True", "-p", "steps=20")
    assert f"Restoring parameters from {where}/model.ckpt-10\n" in second.stdout
    assert "step: 10(global step: 10)" in second.stdout
    assert f"SavedModel written to: {where}/2/saved_model.pb" in second.stdout

    for mode, line in (("EVAL", "[40 examples]"), ("PREDICT", "outputs 5")):
        done = runs(person, MOX, "--train-url", where, "-p", f"mode={mode}")
        assert f"Restoring parameters from {where}/model.ckpt-20\n" in done.stdout
        assert line in done.stdout

    again = person.types("rerun", "first", "--same-output")
    assert (
        f"The checkpoint {where}/model.ckpt-20 is at step 20 >= max_number_of_steps 10: nothing is "
        "left to train. Raise max_number_of_steps to continue, or give another log_dir (the job's "
        "train_url) to begin anew."
    ) in again.stdout
    assert f"SavedModel written to: {where}/3/saved_model.pb" in again.stdout


@pytest.mark.smoke
def test_plain_saver_continues_and_its_curves_are_shown(person):
    words = ("--train-url", "obs://bucket/saver")
    runs(person, SAVER, *words)
    second = runs(person, SAVER, *words, "--name", "second")

    assert "restored obs://bucket/saver/model.ckpt-6\n" in second.stdout
    (curve,) = person.asks("show", "second", "--curves")["curves"]
    assert (curve["run"], curve["tag"]) == ("summary", "loss")
    assert [point[0] for point in curve["points"]] == [7, 8, 9, 10, 11, 12]
    listed = person.types("store", "ls", "obs://bucket/saver/").stdout
    # Each job keeps two of its own.
    assert re.findall(r"ckpt-(\d+)\.index", listed) == ["11", "12", "5", "6"]


def test_an_estimator_continues(person):
    words = ("--train-url", "s3://bucket/estimator")
    runs(person, ESTIMATOR, *words)
    second = runs(person, ESTIMATOR, *words)

    assert "Restoring parameters from s3://bucket/estimator/model.ckpt-5\n" in second.stdout
    assert "model.ckpt-10.index" in person.types("store", "ls", "s3://bucket/estimator/").stdout


def test_hint_works_for_url_opened_by_script(person):
    script = person.script(UNSEEN)
    words = ("run", script, "--dialect", "dls", "--train-url", "s3://bucket/unseen")

    failed = person.types(*words, code=5)

    assert "run it with `--urls none`, which makes train_url a local folder" in failed.stderr
    person.types(*words, "--urls", "none")
    assert person.types("store", "cat", "s3://bucket/unseen/model.txt").stdout == "trained"


def test_a_job_continues_at_a_store_elsewhere(alone):
    with serve(SmallS3("elsewhere")) as url:
        found = endpoint(url)
        (alone.home / "settings.toml").write_text(
            f'[stores.s3]\nendpoint = "{found.endpoint}"\n'
            f'access_key = "{found.access_key}"\nsecret_key = "{found.secret_key}"\n'
        )
        runs(alone, MOX, "--train-url", "s3://elsewhere/log")
        second = runs(alone, MOX, "--train-url", "s3://elsewhere/log", "-p", "steps=20")

        assert "Restoring parameters from s3://elsewhere/log/model.ckpt-10\n" in second.stdout


def test_two_nodes_continue(person):
    words = ("--train-url", "s3://bucket/nodes", "--nodes", "2")
    runs(person, MOX, *words)
    second = runs(person, MOX, *words, "-p", "steps=20")

    assert "Restoring parameters from s3://bucket/nodes/model.ckpt-10\n" in second.stdout
