"""TensorFlow 1 or 2, detected from the code alone."""

import json
import os
import subprocess
import sys

import pytest

from danlu.job.spec import TENSORFLOW_1, TENSORFLOW_2, parse
from danlu.usercode.tensorflow_names import _BELOW, _TOP, ONE, TWO
from danlu.usercode.tensorflow_version import DetectedVersion, Sign, find

TF = "import tensorflow as tf\n"


def version(text, **beside):
    return find({"train.py": text, **beside}, "train.py").version


@pytest.mark.parametrize(
    "text",
    [
        TF + "sess = tf.Session()",
        TF + "x = tf.placeholder(tf.float32, [None, 784])",
        TF + "tf.app.run()",
        TF + "flags = tf.flags",
        TF + "FLAGS = tf.app.flags.FLAGS",
        TF + "slim = tf.contrib.slim",
        TF + "y = tf.layers.dense(x, 10)",
        TF + "w = tf.get_variable('w', [1])",
        TF + "tf.train.AdamOptimizer(0.1).minimize(loss)",
        TF + "tf.estimator.Estimator(model_fn)",
        TF + "it = dataset.batch(3).make_one_shot_iterator()",
        TF + "it = tf.data.Dataset.range(3).batch(2).\\\n  make_initializable_iterator()",
        TF + "tf.enable_eager_execution()\nwith tf.GradientTape() as tape: pass",
        TF + "loss = tf.losses.softmax_cross_entropy(a, b)",
        TF + "from tensorflow.examples.tutorials.mnist import input_data",
        "import tensorflow.contrib.slim as slim",
        "from tensorflow.contrib import rnn, layers",
        "from tensorflow.contrib.rnn import (LSTMCell,\n    GRUCell as gru)",
        "from tensorflow import placeholder",
        "from tensorflow import (constant,  # a comment\n  Session as S)",
        "import os, tensorflow as T, sys\nT.global_variables_initializer()",
        "import tensorflow.compat.v1 as tf\ntf.disable_v2_behavior()",
        "from tensorflow.compat import v1 as tf",
        "import tensorflow.compat.v1 as tf\nimport tensorflow.compat.v2 as tf2\ntf.a\ntf.b\ntf2.c",
        "from keras import backend as K\nK.set_session(s)",
        "import keras.backend.tensorflow_backend as KTF",
        "import keras\nkeras.models.Sequential()",
        "from keras.models import Sequential",
        "import moxing.tensorflow as mox",
        "import moxing as mox\nmox.run(input_fn=f)",
        "import tflearn",
        "try: import tensorflow as tf\nexcept ImportError: pass\ntf.logging.info('x')",
        "if True:\n\timport tensorflow as tf\n        print 'tabs', tf.Session\n",
        "import tensorflow as tf；print（1）\ntf.Session()",
        "print 'Python 2'\nimport tensorflow as tf\nexec 'x'; sess = tf.Session(); print `1`, 0777",
        TF + "print(tf.constant(1))",
        TF + "@tf.function\ndef f(): pass\ntf.Session()",  # a draw
    ],
)
def test_names_of_tensorflow_1_ask_for_it(text):
    assert version(text) == TENSORFLOW_1


@pytest.mark.parametrize(
    "text",
    [
        TF + "@tf.function\ndef f(): pass",
        TF + "with tf.GradientTape() as tape: pass",
        TF + "tf.random.set_seed(1)",
        TF + "opt = tf.optimizers.Adam(0.1)",
        TF + "opt = tf.keras.optimizers.Adam(learning_rate=0.1)",
        TF + "m = tf.metrics.Mean()",
        TF + "loss = tf.losses.SparseCategoricalCrossentropy()",
        TF + "print(tf.constant(1).numpy())",
        TF + "for gpu in tf.config.experimental.list_physical_devices('GPU'): pass",
        TF + "w = tf.summary.create_file_writer('logs')",
        TF + "model = tf.keras.Sequential()",
        TF + "tf.compat.v1.logging.set_verbosity(0)\nmodel = tf.keras.Model()",
        TF + "s = tf.compat.v1.Session(config=c)\ntf.compat.v1.keras.backend.set_session(s)\n"
        "model = tf.keras.Sequential()",
        "from tensorflow import keras\nkeras.layers.Dense(1)",
        "from tensorflow.keras.layers import Dense",
        "from tensorflow.python.keras.layers import Dense",
        "import keras\nfrom keras import layers\nlayers.Rescaling(1 / 255)",
        "import keras\nkeras.utils.set_random_seed(1)",
        "import tensorflow.compat.v2 as tf",
    ],
)
def test_names_of_tf2_and_keras_select_version(text):
    assert version(text) == TENSORFLOW_2


@pytest.mark.parametrize(
    "text",
    [
        "import torch\nx.cpu().numpy()",
        "import sklearn",
        "print('hello')",
        "# import tensorflow as tf",
        "'''\nimport tensorflow as tf\ntf.Session()\n'''",
        "import moxing as mox\nmox.file.copy_parallel('a', 'b')",
        "name = 'tensorflow'",
        "import tensorflow_datasets as tfds",
        "tf.Session()",
        "from . import tensorflow",
    ],
)
def test_without_tensorflow_nothing_is_asked_for(text):
    assert find({"train.py": text}, "train.py") == DetectedVersion()


def test_reason_is_first_name_with_its_place():
    found = find({"train.py": TF + "\nx = 1\nsess = tf.Session()\n"}, "train.py")

    sign = Sign("tensorflow.Session", "train.py", 4)
    assert found == DetectedVersion(TENSORFLOW_1, "one", sign)


def test_imports_of_started_file_decide_alone():
    files = {
        "train.py": "from net import model\nimport layers.dense\n",
        "net/__init__.py": "",
        "net/model.py": "from ..parts import head",
        "parts/head.py": TF + "tf.placeholder(1)",
        "layers/dense.py": "x = 1",
        "other.py": TF + "tf.function\ntf.GradientTape\ntf.optimizers\n",
    }

    assert find(files, "train.py").sign == Sign("tensorflow.placeholder", "parts/head.py", 2)
    assert find(files, "other.py").version == TENSORFLOW_2


def test_unimported_files_decide_without_other_evidence():
    files = {"train.py": "run(argv)", "plugins/a.py": TF + "tf.Session"}

    assert find(files, "train.py").sign.file == "plugins/a.py"


def test_a_module_is_followed_as_a_file_is():
    files = {
        "trainer/task.py": "from trainer import model",
        "trainer/model.py": TF + "tf.Session",
        "eval.py": TF + "tf.function\ntf.optimizers",
    }

    assert find(files, "trainer.task").sign.file == "trainer/model.py"


def test_most_names_win_where_both_kinds_are_there():
    assert version(TF + "tf.function\ntf.GradientTape\ntf.optimizers.Adam\ntf.to_float(x)") == (
        TENSORFLOW_2
    )


@pytest.mark.parametrize(
    "text",
    [
        "(" * 100_000,
        "\0",
        "'''" + "x" * 100_000,
        "import",
        "from",
        "from .",
        "import as,",
        "a." * 999,
    ],
)
def test_text_of_any_kind_is_survived(text):
    assert version(f"{TF}tf.Session()\n{text}") == TENSORFLOW_1


def test_modules_that_import_each_other_are_read_once():
    files = {"a.py": "import b", "b.py": "import a\n" + TF + "tf.app"}

    assert find(files, "a.py").version == TENSORFLOW_1


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("1.14", "1.14.0"),
        ("1.14.0", "1.14.0"),
        ("1.4", "1.4.0"),
        ("1", TENSORFLOW_1),
        ("2", TENSORFLOW_2),
        ("2.0.0", "2.0.0"),
        ("2.16.1", "2.16.1"),
        ("TF-1.13.1-python3.6", "1.13.1"),
        ("tensorflow-1.8", "1.8.0"),
        ("1.15.0rc2", "1.15.0"),
        ("0.12", None),
        ("3.0", None),
        ("1.14.x", None),
        ("PyTorch-1.0.0", None),
        ("", None),
        ("latest", None),
    ],
)
def test_versions_are_read_as_services_wrote_them(text, version):
    assert parse(text) == version


COMPARE = """
import json, sys
import tensorflow

def has(module, path):
    for part in path.split("."):
        module = getattr(module, part, None)
    return module is not None

given, first, second = json.load(sys.stdin), tensorflow.compat.v1, tensorflow
print(json.dumps([[n for n in names if has(module, n)] for names, module in
    ((given["one"], first), (given["one"], second), (given["two"], second))]))
"""


def test_names_are_of_one_or_of_other():
    """Against TensorFlow itself, as it is without the runtime."""
    below = (f"{area}.{name}" for area, names in _BELOW.items() for name in names.split())
    one, two = sorted([*_TOP.split(), *below]), sorted(TWO)

    done = subprocess.run(
        [sys.executable, "-c", COMPARE],
        input=json.dumps({"one": one, "two": two}),
        env={**os.environ, "TF_USE_LEGACY_KERAS": "1", "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert json.loads(done.stdout.splitlines()[-1]) == [one, [], two]
    assert not ONE & TWO
