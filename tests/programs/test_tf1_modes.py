"""Which TensorFlow a script gets: the first generation, the second, or none."""

import pytest

SHARED_HOME = True

EAGER = """
import tensorflow as tf

slope = tf.Variable(0.0)
optimizer = tf.keras.optimizers.SGD(learning_rate=0.1)
x = tf.linspace(-1.0, 1.0, 20)
for step in range(100):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(slope * x - 3.0 * x))
    optimizer.apply_gradients(zip(tape.gradient(loss, [slope]), [slope]))
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,))])
model.compile("sgd", "mse")
history = model.fit(x[:, None], 3 * x[:, None], epochs=3, verbose=0).history["loss"]
print("eager", tf.executing_eagerly(), "slope %.1f" % slope.numpy())
print("loss falls", history[2] < history[0], "Session" in dir(tf))
"""

PLAIN = """
import os
import sys

import torch
from sklearn.linear_model import LogisticRegression

x = [[n / 10, 1 - n / 10] for n in range(20)]
y = [int(n > 9) for n in range(20)]
print("accuracy", LogisticRegression(C=100.0).fit(x, y).score(x, y), torch.ones(2))
print("tensorflow", [name for name in sys.modules if name.split(".")[0] == "tensorflow"])
print("told", [name for name in os.environ if name in ("DANLU_TENSORFLOW", "TF_USE_LEGACY_KERAS")])
"""

CHILD = """
import sys
import tensorflow as tf

with tf.Session() as session:
    x = tf.placeholder(tf.float32)
    print("child", sys.argv[1:], tf.__version__, session.run(x * 2, {x: 4.0}), flush=True)
"""

PARENT = """
import multiprocessing
import subprocess
import sys


def count(number):
    import tensorflow as tf
    from tensorflow.contrib import layers

    with tf.Graph().as_default(), tf.Session() as session:
        ones = tf.ones_initializer()
        tens = layers.fully_connected(tf.ones([1, 2]), number, weights_initializer=ones)
        session.run(tf.global_variables_initializer())
        return tf.__version__, session.run(tens).tolist()


if __name__ == "__main__":
    child = subprocess.Popen([sys.executable, "child.py", "a b"])
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print("spawned", pool.apply(count, (3,)), flush=True)
    print("parent", "tensorflow" in sys.modules, child.wait())
"""


def test_a_script_of_tensorflow_2_gets_it_plain(person):
    done = person.types("run", person.script(EAGER))

    assert "eager True slope 3.0\nloss falls True False\n" in done.stdout


@pytest.mark.smoke
def test_a_script_of_other_libraries_is_left_alone(person):
    torch = "class Tensor:\n    pass\n\ndef ones(size):\n    return [1.0] * size\n"
    person.script(torch, "torch.py")  # a stand-in: PyTorch is large
    person.script(PLAIN)

    done = person.types("run", "code", "--boot-file", "train.py")

    assert "accuracy 1.0 [1.0, 1.0]\ntensorflow []\ntold []\n" in done.stdout


@pytest.mark.parametrize(
    "words", [("run", "code", "--boot-file", "train.py"), ("python", "train.py")]
)
def test_processes_a_script_starts_see_tensorflow_1_too(person, words):
    person.script(CHILD, "child.py")
    person.script(PARENT)
    inside = person.folder / "code" if words[0] == "python" else None

    done = person.types(*words, cwd=inside)

    assert "child ['a b'] 1.15.5 8.0\n" in done.stdout
    assert "spawned ('1.15.5', [[2.0, 2.0, 2.0]])\n" in done.stdout
    assert "parent False 0\n" in done.stdout


@pytest.mark.smoke
def test_failure_in_graph_is_reported_in_one_line(person):
    person.script(
        "import tensorflow as tf\n"
        "\n"
        "x = tf.placeholder(tf.float32, [None, None], name='x')\n"
        "y = tf.matmul(x, tf.ones([3, 2]))\n"
        "with tf.Session() as session:\n"
        "    session.run(y, {x: [[1.0, 2.0]]})\n"
    )

    done = person.types("run", "code", "--boot-file", "train.py", "--name", "misfit", code=5)

    assert (
        "InvalidArgumentError: Matrix size-incompatible: In[0]: [1,2], In[1]: [3,2]; "
        "node 'MatMul' is made at train.py:4 (train.py:6, in <module>)\n"
    ) in done.stderr
    assert "Fix: The sizes do not fit at train.py:4: " in done.stderr


def test_checkpoint_of_another_model_shows_both_shapes(person):
    person.script(
        "import argparse\n"
        "import tensorflow as tf\n"
        "parser = argparse.ArgumentParser()\n"
        "parser.add_argument('--units', type=int)\n"
        "parser.add_argument('--train_url')\n"
        "args = parser.parse_args()\n"
        "layer = tf.layers.dense(tf.ones([1, 2]), args.units, name='layer', use_bias=False)\n"
        "loss = tf.reduce_sum(layer)\n"
        "step = tf.train.get_or_create_global_step()\n"
        "train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, step)\n"
        "hooks = [tf.train.StopAtStepHook(num_steps=2)]\n"
        "with tf.train.MonitoredTrainingSession(\n"
        "        checkpoint_dir=args.train_url, hooks=hooks) as session:\n"
        "    while not session.should_stop():\n"
        "        session.run(train)\n"
    )
    words = ["run", "code", "--boot-file", "train.py", "--train-url", "obs://bucket/out"]

    person.types(*words, "-p", "units=3")
    done = person.types(*words, "--predownload", "train_url", "-p", "units=4", code=5)

    assert "layer/kernel is [2,4] in this model and [2,3] in the checkpoint" in done.stderr
