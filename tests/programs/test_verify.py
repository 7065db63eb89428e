"""danlu verify with the real TensorFlow 1.15.5, where this machine has a Python 3.7."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from danlu.cli.verify.reference import candidates

DANLU = Path(sys.executable).with_name("danlu")
pytestmark = pytest.mark.skipif(
    not any(candidates(os.environ)), reason="this machine has no Python 3.7"
)

SAVER = """
import sys
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)
x = tf.placeholder(tf.float32, [None, 8])
y = tf.layers.dense(x, 1, kernel_initializer=tf.ones_initializer(), name="out")
loss = tf.reduce_mean(tf.square(y - 1))
step = tf.train.get_or_create_global_step()
train = tf.train.AdamOptimizer(0.01).minimize(loss, global_step=step)
tf.summary.scalar("loss", loss)
merged = tf.summary.merge_all()
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    writer = tf.summary.FileWriter(sys.argv[1])
    for number in range(20):
        _, value, text = session.run([train, loss, merged], {x: rng.rand(4, 8)})
        writer.add_summary(text, number)
        print("step %d, loss = %.5f" % (number, value))
    writer.close()
    tf.train.Saver().save(session, sys.argv[1] + "/model.ckpt", global_step=step)
"""
KERAS = """
import numpy as np
import tensorflow as tf

x = np.random.RandomState(0).rand(64, 4).astype("float32")
model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="zeros", input_dim=4)])
model.compile("sgd", "mse")
model.fit(x, x[:, :1], epochs=2, batch_size=16, shuffle=False, verbose=2)
model.save("model.h5")
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


def verify(folder, home, text, *words):
    (folder / "train.py").write_text(textwrap.dedent(text))
    done = subprocess.run(
        [DANLU, "verify", "--json", "train.py", *words],
        cwd=folder,
        env={**os.environ, "DANLU_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


@pytest.mark.timeout(900)
def test_checkpoints_of_both_are_restored_by_both(tmp_path, home):
    code, found = verify(tmp_path, home, SAVER, str(tmp_path / "out"))

    assert (code, found["differences"]) == (0, [])
    kinds = {each["kind"]: each for each in found["files"]}
    assert kinds["checkpoint"]["restored"] == ["danlu", "reference"]
    assert kinds["events"]["arrays"] == 2
    assert found["printed"]["lines"] == 20
    assert found["variables"]["final"]["arrays"] == 9
    assert found["reference"]["steps"] == found["danlu"]["steps"] == 20
    assert found["reference"]["tensorflow"] == found["danlu"]["tensorflow"] == "1.15.5"


@pytest.mark.timeout(900)
def test_keras_model_of_reference_is_loaded(tmp_path, home):
    _, found = verify(tmp_path, home, KERAS)

    (model,) = found["files"]
    assert model["kind"] == "hdf5"
    assert "danlu" in model["restored"]
    assert model["different"] == found["variables"]["final"]["different"] == 0


@pytest.mark.timeout(900)
def test_other_results_are_differences(tmp_path, home):
    code, found = verify(
        tmp_path,
        home,
        "import os\nimport tensorflow as tf\n"
        "with tf.Session() as s: print('value', s.run(tf.constant(len(os.sys.version[:4]))))\n"
        "print('loss', 0.5 if os.environ.get('DANLU_TENSORFLOW') else 0.6)",
    )

    assert code == 1
    assert found["differences"] == ["loss: 0.6 on 1.15.5, 0.5 on Danlu"]
