"""The report about code before it runs."""

import json

import pytest


@pytest.fixture
def check(task):
    def run(*words, **env):
        words = ("-m", "danlu_runtime.check", str(task.code), "--json", *words)
        done = task.python(*words, **{"DANLU_CODE": "", **env})  # it sets the variable itself
        assert done.stdout, done.stderr
        found = json.loads(done.stdout)
        rows = {
            kind: [(item["file"], item["line"], item["text"]) for item in items]
            for kind, items in found.items()
            if kind != "tensorflow"
        }
        return {**rows, "tensorflow": found["tensorflow"], "code": done.returncode}

    return run


def test_code_that_needs_nothing(task, check):
    task.write("train.py", "import os\nprint(os.getcwd())\n")

    assert check() == {
        **{kind: [] for kind in ("repaired", "mapped", "gone", "missing", "errors")},
        "tensorflow": "",
        "code": 0,
    }


def test_repairs_are_reported_with_their_lines(task, check):
    task.write("a/old.py", "x = 7 / 2\nprint x\n")
    task.write("wide.py", "f = max\nx = f（1，2）\n")

    assert check()["repaired"] == [
        ("a/old.py", 1, "Python 2: `/` of two whole numbers gives a whole number"),
        ("a/old.py", 2, "Python 2: print statement read as print(…)"),
        ("wide.py", 2, "（ (U+FF08) read as (, ， (U+FF0C) read as ,, ） (U+FF09) read as )"),
    ]


def test_syntax_error_names_the_meant_keyword(task, check):
    task.write("bad.py", "def f():\n    reutrn 3\n")

    found = check()

    assert found["errors"] == [
        ("bad.py", 2, "invalid syntax. Did you mean 'return'?: reutrn 3"),
    ]
    assert found["code"] == 1


def test_missing_modules_are_named_with_their_package(task, check):
    task.write("requirements.txt", "easydict==1.9\n")
    task.write("lib/tools.py", "")
    task.write(
        "train.py",
        """
        import os, easydict, tools, moxing, cPickle
        import MySQLdb
        from npu_bridge.estimator import npu_ops
        import no_such_thing
        try:
            import skimage
        except ImportError:
            skimage = None
        """,
    )

    found = check()

    assert found["missing"] == [
        ("train.py", 3, "import MySQLdb: add mysqlclient to requirements.txt"),
        (
            "train.py",
            4,
            "import npu_bridge.estimator.npu_ops: it drives Huawei's Ascend devices and is in no"
            " package; run without it",
        ),
        (
            "train.py",
            5,
            "import no_such_thing: no module of that name is in the code or the runtime",
        ),
    ]
    assert ("train.py", 2, "import cPickle read as pickle") in found["mapped"]


def test_names_of_tensorflow_1_are_asked_of_tensorflow(task, check):
    task.write(
        "train.py",
        """
        import tensorflow as tf
        import numpy as np
        import time
        from tensorflow.python.keras.layers import LSTM, Nope
        x = tf.placeholder(np.float)
        tf.train.AdamOptimizer(0.1).minimize(x)
        tf.train.NoSuchOptimizer(0.1)
        tf.contrib.framework.get_or_create_global_step()
        time.clock()
        """,
    )

    found = check()

    assert found["tensorflow"] == "1"
    assert [line for _, line, _ in found["gone"]] == [5, 8]
    assert "tensorflow.python.keras.layers.Nope is not in tf.keras" in found["gone"][0][2]
    assert "NoSuchOptimizer" in found["gone"][1][2]
    assert [line for _, line, _ in found["mapped"]] == [5, 6, 9, 10]
    assert "numpy.float is put back" in found["mapped"][1][2]
    assert "tf.contrib.framework.get_or_create_global_step" in found["mapped"][2][2]


def test_script_of_tf2_is_asked_of_tf2(task, check):
    task.write("train.py", "import tensorflow as tf\ntf.Variable(1)\ntf.placeholder(tf.float32)\n")

    found = check(DANLU_TENSORFLOW="2.15.0")

    assert found["tensorflow"] == "2"
    assert [line for _, line, _ in found["gone"]] == [3]


def test_one_file_of_a_folder(task, check):
    task.write("train.py", "print 'x'\n")
    task.write("other.py", "print 'y'\n")
    done = task.python("-m", "danlu_runtime.check", str(task.code / "train.py"))

    assert done.stdout == "repaired: train.py:1: Python 2: print statement read as print(…)\n"


def test_nothing_of_the_code_is_run(task, check):
    task.write("train.py", "open('ran', 'w')\nimport other\n")
    task.write("other.py", "open('ran', 'w')\n")

    check()

    assert not (task.code / "ran").exists()
