"""Programs of TensorFlow for the table of hints: see ``hint_trials``."""

from collections.abc import Mapping
from typing import NamedTuple

from hint_trials import Trial

START = "import os, sys, tempfile\nimport numpy as np\nimport tensorflow as tf\n"
FOLDER = "folder = tempfile.mkdtemp()\n"
SAVED = f"""{START}{FOLDER}
tf.get_variable("weight", [2, 3])
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    tf.train.Saver().save(session, folder + "/model.ckpt")
tf.reset_default_graph()
"""
# A model that was changed since; the variables that a Saver restores are filled in.
RESTORES = """
weight = tf.get_variable("weight", {shape})
bias = tf.get_variable("bias", [3])
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    tf.train.Saver({variables}).restore(session, folder + "/model.ckpt")
"""
MOXING = """
import tensorflow as tf
import moxing.tensorflow as mox

def input_fn(mode):
    return tf.zeros([32, 32, 3])

def model_fn(inputs, mode):
    images = inputs
    return mox.ModelSpec(loss=tf.reduce_mean(tf.layers.conv2d(images, 8, 3)))

mox.run(
    input_fn=input_fn, model_fn=model_fn, batch_size=4, max_number_of_steps=1,
    optimizer_fn=mox.get_optimizer_fn("sgd", learning_rate=0.1), run_mode="TRAIN",
)
"""
TWO_INPUTS = MOXING.replace(
    "return tf.zeros([32, 32, 3])", "return tf.zeros([32, 32, 3]), tf.constant(1)"
)
PICTURES = """
import os, sys
import tensorflow as tf
import moxing.tensorflow as mox
folder = sys.argv[1].partition("=")[2]
os.makedirs(folder + "daisy", exist_ok=True)
open(folder + "daisy/page.jpg", "w").write("not found")
with tf.Session() as session:
    good = session.run(tf.image.encode_jpeg(tf.zeros([4, 4, 3], tf.uint8)))
open(folder + "daisy/good.jpg", "wb").write(good)
meta = mox.ImageClassificationRawMetadata(folder)
image = mox.ImageClassificationRawDataset(meta{skip}, batch_size=1, image_size=4).get(["image"])
with tf.Session() as session:
    for _ in range(4):
        session.run(image)
"""
DIVERGES = """
rate = float(dict(word.lstrip("-").split("=") for word in sys.argv[1:])["lr"])
def model_fn(features, labels, mode):
    weight = tf.get_variable("w", [], initializer=tf.ones_initializer())
    loss = tf.log(1.5 - weight)
    train_op = tf.train.GradientDescentOptimizer(rate).minimize(
        loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)

data = lambda: tf.data.Dataset.from_tensors(({"x": 1.0}, 1.0)).repeat()
tf.estimator.Estimator(model_fn, tempfile.mkdtemp()).train(data, steps=3)
"""
FEEDS = """
x = tf.placeholder(tf.float32, [None, 4], name="x")
keep = tf.placeholder(tf.float32, name="keep")
value = np.zeros([5, 2, 2])
with tf.Session() as session:
    session.run(x * keep, {feed})
"""
LABELS = """
labels = tf.constant([3, 10])
loss = tf.losses.sparse_softmax_cross_entropy(labels, tf.zeros([2, {classes}]))
with tf.Session() as session:
    session.run(loss)
"""
RECORDS = """
import glob
open(folder + "/a.csv", "w").write("1,2,3\\n" * 20)
with tf.python_io.TFRecordWriter(folder + "/a.tfrecords") as writer:
    writer.write(b"1")
files = sorted(glob.glob(folder + "/{pattern}"))
record = tf.data.TFRecordDataset(files).make_one_shot_iterator().get_next()
with tf.Session() as session:
    session.run(record)
"""
SAVES = """
tf.get_variable("a", [2])
path = folder + "/a/b/model.ckpt"
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    {make}
    tf.train.Saver().save(session, path)
"""
RESTORES_LATEST = """
tf.get_variable("a", [2])
with tf.Session() as session:
    {condition}tf.train.Saver().restore(session, tf.train.latest_checkpoint(folder))
"""
UNSET = """
a = tf.get_variable("a", [3])
with tf.Session() as session:
    {initialize}
    session.run(a)
"""
SHAPES = """
a, b = tf.zeros([2, 3]), tf.zeros([2, 3])
c = tf.matmul(a, {b})
with tf.Session() as session:
    session.run(c)
"""


class Change(NamedTuple):
    """A failing script, words of its hint, the script after the change, and parameters of both."""

    script: str
    hint: str
    fixed: str
    before: Mapping[str, object] = {}
    after: Mapping[str, object] = {}
    data: bool = False  # the job has an input


def restored(shape: str, variables: str) -> str:
    return SAVED + RESTORES.format(shape=shape, variables=variables)


# Run in a process that has TensorFlow loaded, without a server.
CHANGES: Mapping[str, Change] = {
    "checkpoint_key": Change(
        restored("[2, 3]", ""), "tf.train.Saver(var_list=[…])", restored("[2, 3]", "[weight]")
    ),
    "checkpoint_shape": Change(
        restored("[2, 5]", "[weight]"),
        "train into an empty folder",
        restored("[2, 5]", "[weight]").replace(
            'tf.train.Saver([weight]).restore(session, folder + "/model.ckpt")',
            'tf.train.Saver().save(session, tempfile.mkdtemp() + "/model.ckpt")',
        ),
    ),
    "checkpoint_none": Change(
        START + FOLDER + RESTORES_LATEST.format(condition=""),
        "restore only `if tf.train.latest_checkpoint(folder)`",
        START
        + FOLDER
        + RESTORES_LATEST.format(condition="if tf.train.latest_checkpoint(folder): "),
    ),
    "checkpoint_folder": Change(
        START + FOLDER + SAVES.format(make=""),
        "tf.gfile.MakeDirs",
        START + FOLDER + SAVES.format(make="{hint}"),
    ),
    "placeholder_not_fed": Change(
        START + FEEDS.format(feed="{x: value.reshape(-1, 4)}"),
        "add it to feed_dict",
        START + FEEDS.format(feed="{x: value.reshape(-1, 4), keep: 1.0}"),
    ),
    "placeholder_shape": Change(
        START + FEEDS.format(feed="{x: value, keep: 1.0}"),
        "np.reshape(value, (-1, 4))",
        START + FEEDS.format(feed="{x: {hint}, keep: 1.0}"),
    ),
    "variable_unset": Change(
        START + UNSET.format(initialize=""),
        "tf.global_variables_initializer()",
        START + UNSET.format(initialize="session.run({hint})"),
    ),
    "label_range": Change(
        START + LABELS.format(classes=10),
        "raise the number of classes",
        START + LABELS.format(classes=11),
    ),
    "loss_no_number": Change(
        START + DIVERGES, "lower the learning rate", START + DIVERGES, {"lr": 10}, {"lr": 0.001}
    ),
    "inputs_list": Change(
        MOXING, "images = inputs[0]", MOXING.replace("images = inputs", "{hint}")
    ),
    "inputs_list.two_inputs": Change(
        TWO_INPUTS, "images, labels = inputs", TWO_INPUTS.replace("images = inputs", "{hint}")
    ),
    "shapes": Change(
        START + SHAPES.format(b="b"),
        "print `tensor.shape` of what goes in there",
        START + "print(tf.zeros([2, 3]).shape)\n" + SHAPES.format(b="tf.transpose(b)"),
    ),
    "records_broken": Change(
        START + FOLDER + RECORDS.replace("{pattern}", "*"),
        "`*.tfrecords`",
        START + FOLDER + RECORDS.replace("{pattern}", "*.tfrecords"),
    ),
    "picture_broken": Change(
        PICTURES.replace("{skip}", ""),
        "skip_corrupted=True",
        PICTURES.replace("{skip}", ", {hint}"),
        data=True,
    ),
}

# Run as jobs.
TENSORFLOW: Mapping[str, Trial] = {
    "module_tensorflow1": Trial(
        "import tensorflow as tf\ntf.placeholder('float')\n",
        "--framework-version 1.15",
        ("--framework-version", "2.0.0"),
    ).then(options=("--framework-version", "1.15")),
    "data_file": Trial(
        "import tensorflow as tf\n"
        "tf.keras.utils.get_file('a.npz', 'http://127.0.0.1:9/a.npz', cache_dir='/cache')\n",
        "give that folder to the job as an input",
        ("--dialect", "modelarts"),
        data={"a.npz": "1"},
    ).then(options=("--dialect", "modelarts", "--input", "mine={data}")),
}
