"""``tensorflow.python.keras`` in a script is the Keras it runs on."""

import ast

import pytest

from danlu_runtime.repair import keras_imports
from danlu_runtime.repair.rewrite import repair_source

SCRIPT = b"""import tensorflow as tf
from tensorflow.python.keras.layers import LSTM, Dense as D
from tensorflow.python import keras, pywrap_tensorflow
import tensorflow.python.keras.backend as K
import tensorflow.python.keras.layers, os

x = tf.python.keras.layers.Conv2D
y = tensorflow.python.keras.models.Model
from tensorflow.python.keras.layers import *
"""


def test_rewritten_imports_and_attributes_keep_their_lines():
    repaired = repair_source(SCRIPT, "x.py", keras=True)

    assert [(f.kind, f.line) for f in repaired.findings] == [
        ("mapped", line) for line in (2, 3, 4, 5, 7, 8, 9)
    ]
    assert ast.unparse(repaired.tree).split("\n") == [
        "from danlu_runtime.repair.keras_imports import resolve as __danlu_keras__",
        "import tensorflow as tf",
        "LSTM = __danlu_keras__('layers.LSTM')",
        "D = __danlu_keras__('layers.Dense')",
        "from tensorflow.python import pywrap_tensorflow",
        "keras = __danlu_keras__('')",
        "K = __danlu_keras__('backend')",
        "import tensorflow",
        "import os",
        "x = __danlu_keras__('layers.Conv2D')",
        "y = __danlu_keras__('models.Model')",
        "from tensorflow.keras.layers import *",
    ]
    assert [node.lineno for node in repaired.tree.body][1:] == [1, 2, 2, 3, 3, 4, 5, 5, 7, 8, 9]


@pytest.mark.parametrize(
    "script", ["import tensorflow.keras\n", "from keras import layers\n", "import os, sys\n"]
)
def test_other_imports_stay(script):
    tree = ast.parse(script)

    assert keras_imports.rewrite(tree) == []
    assert ast.unparse(tree) == script.strip()


def test_without_the_old_keras_nothing_is_read_otherwise():
    assert not repair_source(SCRIPT, "x.py").changed


def _resolve_all(tf):
    from danlu_runtime.repair.keras_imports import resolve

    assert resolve("") is tf.keras or resolve("").layers.Dense is tf.keras.layers.Dense
    assert resolve("layers.LSTM") is tf.keras.layers.LSTM
    assert resolve("layers.core.Dense") is tf.keras.layers.Dense
    assert resolve("layers.convolutional").Conv2D is not None
    assert resolve("engine.topology.Layer") is tf.keras.layers.Layer
    assert resolve("engine.topology").Layer is tf.keras.layers.Layer
    assert resolve("engine.training.Model") is tf.keras.models.Model
    assert resolve("utils.np_utils").to_categorical([1], 3).tolist() == [[0.0, 1.0, 0.0]]
    assert resolve("preprocessing.sequence._remove_long_seq")(3, [[1], [1, 2, 3]], [0, 1]) == (
        [[1]],
        [0],
    )
    with pytest.raises(ImportError, match=r"tensorflow\.python\.keras\.layers\.Nope is not in"):
        resolve("layers.Nope")


def test_private_names_are_found_in_tensorflow_1(tf):
    _resolve_all(tf)


def test_private_names_are_found_in_tensorflow_2(tf2):
    _resolve_all(tf2)


def test_a_script_gets_the_layers_of_its_keras(task):
    """MoXing manual, section 4.6: its imports."""
    script = """
    import tensorflow as tf
    from tensorflow.python.keras.layers import LSTM
    from tensorflow.python.keras import backend as K
    bts = [ord(b) for b in b'ab']
    print(LSTM is tf.keras.layers.LSTM, K.floatx(), bts)
    """

    assert task.run(script, DANLU_TENSORFLOW="1.15.5") == "True float32 [97, 98]\n"
    assert task.notes("mapped")[:1] == [
        (
            "train.py",
            3,
            "tensorflow.python.keras, which is TensorFlow's own, read as tensorflow.keras",
        )
    ]
    assert (
        "train.py",
        5,
        "ord() of a number: a byte of Python 3 is one already, taken as it is",
    ) in task.notes("repaired")
