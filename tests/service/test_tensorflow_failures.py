"""Failures of TensorFlow itself: each is provoked, and has a hint."""

from dataclasses import replace

import pytest

from danlu.dialects import dls
from danlu.job.job import Job
from danlu.job.state import JobState, Reason
from danlu.job.status import Failure
from danlu.service.diagnosis.hints import find_hint
from script_run import Stage, card

DATA = {"data_url": "obs://bucket/data"}
SAVED = """
    import os, sys, tempfile
    import numpy as np
    import tensorflow as tf

    path = os.path.join(tempfile.mkdtemp(), "model.ckpt")
    weight = tf.get_variable("net/weight", [2, 3])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, path)
    tf.reset_default_graph()
"""
TF = "    import numpy as np\n    import tensorflow as tf\n"


@pytest.fixture
def stage(tmp_path):
    return Stage(tmp_path / "根 root")


def test_a_variable_the_checkpoint_does_not_have(tf, stage):
    cause = stage.provoke(
        SAVED
        + """
    bias = tf.get_variable("net/bias", [3])
    with tf.Session() as session:
        tf.train.Saver().restore(session, path)
    """
    )

    assert card(cause) == "checkpoint_key"
    assert cause.card.en.startswith("The checkpoint has no net/bias, ")
    assert cause.en == (
        "NotFoundError: Restoring from checkpoint failed: Key net/bias not found in checkpoint; "
        "node 'save/RestoreV2' is made at train.py:15 (train.py:15, in <module>)"
    )


def test_a_variable_of_another_shape_in_the_checkpoint(tf, stage):
    cause = stage.provoke(
        SAVED
        + """
    tf.get_variable("net/weight", [2, 5])
    with tf.Session() as session:
        tf.train.Saver().restore(session, path)
    """
    )

    assert card(cause) == "checkpoint_shape"
    assert cause.card.en.startswith("net/weight is [2,5] in this model and [2,3] in the checkpoint")
    assert "net/weight 在本模型中是 [2,5]" in cause.card.zh


def test_estimator_that_was_changed_meets_its_old_checkpoint(tf, stage):
    cause = stage.provoke(
        """
    import tempfile
    import tensorflow as tf

    def model_fn(features, labels, mode, params):
        loss = tf.reduce_sum(tf.layers.dense(features, params["size"], name="out"))
        step = tf.train.get_global_step()
        train_op = tf.train.GradientDescentOptimizer(0.01).minimize(loss, step)
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)

    def train(folder, size):
        data = lambda: tf.data.Dataset.from_tensors((tf.ones([1, 2]), 0)).repeat()
        tf.estimator.Estimator(model_fn, folder, params={"size": size}).train(data, steps=3)

    folder = tempfile.mkdtemp()
    train(folder, 4)
    train(folder, 6)
    """
    )

    assert card(cause) == "checkpoint_shape"
    # Which of the two is met first is a matter of threads.
    assert cause.card.en.startswith(
        ("out/bias is [6] in this model and [4] in", "out/kernel is [2,6] in this model and [2,4]")
    )


def test_a_checkpoint_that_is_not_there(tf, stage):
    for path in ("'/nobody/model.ckpt'", "tf.train.latest_checkpoint('/nobody')"):
        cause = stage.provoke(
            TF
            + f"""
    tf.get_variable("a", [2])
    with tf.Session() as session:
        tf.train.Saver().restore(session, {path})
    """
        )

        assert card(cause) == "checkpoint_none"


def test_checkpoint_into_folder_that_is_not_there(tf, stage):
    cause = stage.provoke(
        TF
        + """
    import tempfile
    tf.get_variable("a", [2])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, tempfile.mkdtemp() + "/a/b/model.ckpt")
    """
    )

    assert card(cause) == "checkpoint_folder"
    assert "/a/b/model.ckpt is not there" in cause.card.en


def test_a_placeholder_that_was_not_fed(tf, stage):
    cause = stage.provoke(
        TF
        + """
    x = tf.placeholder(tf.float32, [None], name="x")
    keep = tf.placeholder(tf.float32, name="keep_prob")
    with tf.Session() as session:
        session.run(x * keep, {x: [1.0]})
    """
    )

    assert card(cause) == "placeholder_not_fed"
    assert cause.card.en.startswith("The placeholder keep_prob (train.py:5) has no value")
    assert cause.en.startswith(
        "InvalidArgumentError: You must feed a value for placeholder tensor 'keep_prob'"
    )
    assert cause.en.endswith("; node 'keep_prob' is made at train.py:5 (train.py:7, in <module>)")


def test_a_value_of_another_shape_than_its_placeholder(tf, stage):
    cause = stage.provoke(
        TF
        + """
    x = tf.placeholder(tf.float32, [None, 784], name="x")
    with tf.Session() as session:
        session.run(x, {x: np.zeros([5, 28, 28])})
    """
    )

    assert card(cause) == "placeholder_shape"
    assert "`np.reshape(value, (-1, 784))`" in cause.card.en


def test_a_variable_without_a_value(tf, stage):
    for name, made in (("a", "tf.get_variable('a', [3])"), ("mean/", "tf.metrics.mean([1.0])[1]")):
        cause = stage.provoke(TF + f"    with tf.Session() as s:\n        s.run({made})\n")

        assert card(cause) == "variable_unset"
        assert cause.card.en.startswith(name)


def test_a_label_beyond_the_classes(tf, stage):
    cause = stage.provoke(
        TF
        + """
    labels = tf.placeholder(tf.int32, [None])
    loss = tf.losses.sparse_softmax_cross_entropy(labels, tf.zeros([2, 10]))
    with tf.Session() as session:
        session.run(loss, {labels: [3, 10]})
    """
    )

    assert card(cause) == "label_range"
    assert "labels go from 0 to 9, and the data has 10" in cause.card.en


DIVERGES = """
    def model_fn(features, labels, mode):
        weight = tf.get_variable("w", [], initializer=tf.ones_initializer())
        loss = tf.log(weight - 2.0)
        step = tf.train.get_global_step()
        train_op = tf.train.GradientDescentOptimizer(1.0).minimize(loss, step)
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)

    data = lambda: tf.data.Dataset.from_tensors(({"x": 1.0}, 1.0)).repeat()
    tf.estimator.Estimator(model_fn).train(data, steps=5)
"""
CHECKS = """
    loss = tf.check_numerics(tf.log(tf.constant(-1.0)), "LossTensor is inf or nan")
    with tf.Session() as session:
        session.run(loss)
"""
MESSAGE_OF_DANLU = """
    raise RuntimeError("The loss 'cross_entropy' became NaN at step 24. Try less.")
"""


def test_a_loss_that_is_no_number(tf, stage):
    for train in (DIVERGES, CHECKS, MESSAGE_OF_DANLU):
        cause = stage.asks(parameters={"lr": 0.5}).provoke(TF + train)

        assert card(cause) == "loss_no_number"
        assert "`danlu rerun mnist -p lr=…`" in cause.card.en


MISFITS = (
    "tf.matmul(tf.zeros([2, 3]), tf.zeros([2, 3]))",
    "tf.matmul(x, tf.ones([3, 2]))",
    "tf.concat([tf.zeros([2, 3]), tf.zeros([3, 3])], 1)",
    "tf.concat([x, tf.ones([3, 2])], 1)",
    "x + tf.ones([3, 3])",
    "tf.reshape(tf.zeros([2, 3]), [4])",
    "tf.reshape(x, [-1, 3])",
    "tf.layers.conv2d(x, 3, 3)",
)


def test_shapes_that_do_not_fit(tf, stage):
    for made in MISFITS:
        cause = stage.provoke(
            TF
            + f"""
    x = tf.placeholder(tf.float32, [None, None])

    def build():
        return {made}

    with tf.Session() as session:
        session.run(build(), {{x: np.zeros([2, 2])}})
    """
        )

        assert card(cause) == "shapes", (made, cause.en)
        assert cause.card.en.startswith("The sizes do not fit at train.py:7: ")
        assert "Detected at node" not in cause.en
        assert "train.py:7" in cause.en


def test_memory_is_reported_with_the_users_line(tf, stage):
    cause = stage.provoke(
        TF
        + """
    huge = tf.random_uniform([1 << 21, 1 << 21])
    with tf.Session() as session:
        session.run(tf.reduce_sum(huge))
    """
    )

    assert card(cause) == "out_of_memory"
    assert cause.en == "worker-0 ran out of memory (train.py:6) (attempts: 1)."


READS = (
    "tf.gfile.Open({path}).read()",
    "session.run(tf.data.TFRecordDataset([{path}]).make_one_shot_iterator().get_next())",
    "session.run(tf.read_file({path}))",
    "tf.train.write_graph(tf.get_default_graph(), {path}, 'graph.pb')",
)


def test_a_file_an_input_does_not_have(tf, stage):
    for read in READS[:3]:
        cause = stage.asks(**DATA).provoke(
            TF
            + f"""
    import sys
    path = sys.argv[1].split("=", 1)[1] + "/train.tfrecords"
    with tf.Session() as session:
        {read.format(path="path")}
    """
        )

        assert card(cause) == "path_input"
        assert "The input data_url has no train.tfrecords" in cause.card.en


def test_a_scheme_that_tensorflow_does_not_know(tf, stage):
    for read in READS:
        script = (
            f"    with tf.Session() as session:\n        {read.format(path=repr('hdfs://a/b'))}\n"
        )
        assert card(stage.provoke(TF + script)) == "path_scheme", read


def test_missing_object_is_reported_by_its_name(tf, stage):
    for read in READS[:3]:
        script = f"    with tf.Session() as session:\n        {read.format(path=repr('ks3://a-bucket/b'))}\n"
        assert "ks3://a-bucket/b" in stage.provoke(TF + script).en, read


def test_a_file_that_is_no_tfrecord(tf, stage):
    cause = stage.provoke(
        TF
        + """
    import tempfile
    path = tempfile.mkdtemp() + "/a.csv"
    open(path, "w").write("1,2,3\\n" * 20)
    record = tf.data.TFRecordDataset([path]).make_one_shot_iterator().get_next()
    with tf.Session() as session:
        session.run(record)
    """
    )

    assert card(cause) == "records_broken"


@pytest.mark.parametrize("batch", ["", ", batch_size=1, image_size=4"])
def test_a_file_that_is_no_picture(tf, stage, batch):
    cause = stage.asks(**DATA).provoke(
        TF
        + f"""
    import os, sys
    import moxing.tensorflow as mox
    folder = sys.argv[1].partition("=")[2]
    os.makedirs(folder + "/daisy")
    open(folder + "/daisy/page.jpg", "w").write("not found")
    meta = mox.ImageClassificationRawMetadata(folder)
    image = mox.ImageClassificationRawDataset(meta{batch}).get(["image"])
    with tf.Session() as session:
        session.run(image)
    """
    )

    assert card(cause) == "picture_broken"
    assert cause.card.en.startswith("obs://bucket/data/daisy/page.jpg is no picture, ")
    assert "`skip_corrupted=True`" in cause.card.zh
    assert cause.en.startswith("InvalidArgumentError: assertion failed: [/")
    assert "page.jpg: these bytes are no image that can be decoded (9 bytes). Repair" in cause.en


def test_preset_model_leaves_such_files_out_by_parameter():
    request = {"preset": "lenet", "data_url": "obs://bucket/a", "train_url": "obs://bucket/b"}
    job = Job("j", "lenet-1", dls.read(request), created=0)
    job = replace(job, state=JobState.FAILED, reason=Reason.SCRIPT_FAILED)
    text = "assertion failed: [/a/1.jpg: these bytes are no image that can be decoded (5 bytes).]"

    found = find_hint(job, Failure("InvalidArgumentError", text))

    assert "/a/1.jpg is no picture" in found.en
    assert "`danlu rerun lenet-1 -p skip_corrupted=true`" in found.en


def test_a_data_file_that_cannot_be_downloaded(tf, stage):
    cause = stage.provoke(
        TF
        + """
    import tempfile
    tf.keras.utils.get_file("a.npz", "http://127.0.0.1:9/a.npz", cache_dir=tempfile.mkdtemp())
    """
    )

    assert card(cause) == "data_file"
    assert cause.card.en.startswith("Download http://127.0.0.1:9/a.npz where there is a network")


def test_model_exported_to_folder_that_is_there(tf, stage):
    cause = stage.asks(train_url="obs://bucket/out").provoke(
        TF
        + """
    import os, sys
    path = sys.argv[1].split("=", 1)[1] + "/1"
    os.makedirs(path, exist_ok=True)
    open(path + "/saved_model.pb", "w").close()
    tf.saved_model.builder.SavedModelBuilder(path)
    """
    )

    assert card(cause) == "export_exists"


def test_a_name_that_is_gone_speaks_for_itself(tf, stage):
    stage.request["framework_version"] = "1.15"

    name = stage.provoke(TF + "    tf.estimator.BoostedTreesClassifier\n")
    module = stage.provoke("import tensorflow.contrib.boosted_trees\n")

    assert name.en.startswith("RemovedNameError: tf.estimator.BoostedTreesClassifier is not in")
    assert "; use tf.estimator.DNNClassifier, or scikit-learn's trees." in name.en
    assert module.en.startswith("GoneModule: tf.contrib.boosted_trees is not in the TensorFlow of ")
    assert (card(name), card(module)) == (None, None)
    assert "…" not in name.en + module.en


def test_every_refusal_fits_into_a_cause(tf):
    """A cause is cut at 300 characters."""
    import importlib
    import pkgutil

    from danlu_runtime.tf1 import contrib
    from danlu_runtime.tf1.contrib import _aliases
    from danlu_runtime.tf1.facade import sentence

    names = [m.name for m in pkgutil.walk_packages(contrib.__path__, f"{contrib.__name__}.")]
    refused = {
        name.removeprefix("danlu_runtime.tf1."): getattr(importlib.import_module(name), "GONE", {})
        for name in [contrib.__name__, *names]
        if not name.endswith("._aliases")
    }
    refused |= {f"contrib.{path}": gone for path, gone in _aliases.GONE.items()}
    reported = 0
    for module, names_gone in refused.items():
        for gone, instead in names_gone.items():
            assert len(sentence(f"tf.{module}.{gone}", instead)) < 300, gone
            reported += 1
    assert reported > 20


def test_names_of_tensorflow_1_in_script_of_2(tf2, stage):
    stage.request["framework_version"] = "2.0.0"
    for script in ("tf.placeholder('float')", "tf.contrib", "import tensorflow.contrib.slim"):
        cause = stage.provoke(f"import tensorflow as tf\n{script}\n")

        assert card(cause) == "module_tensorflow1"
        assert "this script sees TensorFlow 2.0.0" in cause.card.en
    assert card(stage.provoke("import tensorflow as tf\ntf.ConfigProte\n")) is None


MOXING = """
    import tensorflow as tf
    import tensorflow.contrib.slim as slim
    import moxing.tensorflow as mox

    def input_fn(mode):
        return tf.zeros([32, 32, 3])

    def model_fn(inputs, mode):
        images = inputs
        net = {network}
        loss = tf.reduce_mean(net)
        return mox.ModelSpec(loss=loss)

    mox.run(
        input_fn=input_fn, model_fn=model_fn, batch_size=4, max_number_of_steps=1,
        optimizer_fn=mox.get_optimizer_fn("sgd", learning_rate=0.1), run_mode="TRAIN",
    )
"""


@pytest.mark.parametrize(
    "network",
    [
        "slim.conv2d(images, 8, [3, 3])",
        "tf.layers.conv2d(images, 8, 3)",
        "tf.nn.conv2d(images, tf.zeros([3, 3, 3, 8]), [1, 1, 1, 1], 'SAME')",
        "mox.get_model_fn('lenet', 'TRAIN', 10)(images)[0]",
        "images.get_shape()",
    ],
    ids=["slim", "layers", "nn", "network", "shape"],
)
def test_inputs_of_model_fn_used_as_a_tensor(tf, stage, network):
    cause = stage.provoke(MOXING.replace("{network}", network))

    assert card(cause) == "inputs_list"
    assert "train.py:11 uses a list as a tensor: write `images = inputs[0]`" in cause.card.en
    assert "model_fn 的 inputs 是 list" in cause.card.zh


@pytest.mark.parametrize(
    "network",
    ["slim.conv2d(images, 8, [3, 3])", "tf.layers.conv2d(images, 8, 3)", "tf.reshape(images, [4])"],
    ids=["slim", "layers", "reshape"],
)
def test_two_inputs_of_model_fn_used_as_tensor(tf, stage, network):
    two = MOXING.replace(
        "return tf.zeros([32, 32, 3])", "return tf.zeros([32, 32, 3]), tf.constant(1)"
    )
    cause = stage.provoke(two.replace("{network}", network))

    assert card(cause) == "inputs_list"
    assert "`images, labels = inputs`" in cause.card.en


def test_list_of_tensors_is_not_input_list(tf, stage):
    made = "tf.zeros([4, 2]), tf.zeros([4, 2])"
    for network in (f"tf.layers.dense([{made}], 3)", f"tf.layers.dense([images[0], {made}], 3)"):
        cause = stage.provoke(MOXING.replace("{network}", network))

        assert "but it received" in cause.en
        assert card(cause) != "inputs_list"


def test_wrong_rank_is_not_an_input_list(tf, stage):
    for network in ("slim.conv2d(images[0][0], 8, [3, 3])", "slim.conv2d([1][0].shape, 8, 3)"):
        cause = stage.provoke(MOXING.replace("{network}", network))

        assert card(cause) != "inputs_list"


IN_ONE_LINE = {
    "multiply(tf.zeros([2, 2]), tf.zeros([3, 3]))": (
        "Matrix size-incompatible: In[0]: [2,2], In[1]: [3,3]; node 'MatMul' is made at train.py:5"
    ),
    "tf.matmul(tf.zeros([2, 2]), tf.zeros([3, 3]))": (
        "Matrix size-incompatible: In[0]: [2,2], In[1]: [3,3]"
    ),
    "tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,))]).predict(tf.zeros([4, 4]))": (
        'Input 0 of layer "sequential" is incompatible with the layer: '
        "expected shape=(None, 3), found shape=(None, 4)"
    ),
    "list(tf.data.TFRecordDataset(['/nobody/a']))": "/nobody/a; No such file or directory",
}


def test_tensorflow_2_is_reported_in_one_line(tf2, stage):
    function = """
    import tensorflow as tf

    @tf.function(input_signature=[tf.TensorSpec([None, None])] * 2)
    def multiply(a, b): return tf.matmul(a, b) + 1.0
    """
    for script, text in IN_ONE_LINE.items():
        cause = stage.provoke(f"{function}{script}\n")

        assert cause.en.split(": ", 1)[1] == f"{text} (train.py:6, in <module>)"
