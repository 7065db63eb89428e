"""What is kept of TensorFlow's long messages; real ones are in tests/service."""

import pytest

from danlu_runtime.reports.failure import brief

SEVERAL = """Graph execution error:

Detected at node 'layer/MatMul' defined at (most recent call last):
    File "/launch.py", line 1, in <module>
    File "/code/train.py", line 4, in <module>
    File "/code/model.py", line 9, in build
    File "/lib/tensorflow/x.py", line 64, in call
Node: 'layer/MatMul'
Detected at node 'layer/MatMul' defined at (most recent call last):
    File "/code/train.py", line 5, in <module>
Node: 'layer/MatMul'
2 root error(s) found.
  (0) INVALID_ARGUMENT: Matrix size-incompatible: In[0]: [2,2], In[1]: [3,2]
\t [[{{node layer/MatMul}}]]
\t [[layer/Relu/_5]]
  (1) INVALID_ARGUMENT: Matrix size-incompatible: In[0]: [2,2], In[1]: [3,2]
0 successful operations.

Original stack trace for 'layer/MatMul':
  File "/code/train.py", line 4, in <module>
"""
IN_TENSORFLOW_1 = """2 root error(s) found.
  (0) Invalid argument: Matrix size-incompatible: In[0]: [2,2], In[1]: [3,2]
\t [[node layer/MatMul (defined at /lib/tensorflow/x.py:64) ]]
\t [[layer/Relu/_5]]
  (1) Invalid argument: Matrix size-incompatible: In[0]: [2,2], In[1]: [3,2]
\t [[node layer/MatMul (defined at /lib/tensorflow/x.py:64) ]]
0 successful operations.

Original stack trace for 'layer/MatMul':
  File "/launch.py", line 1, in <module>
  File "/code/train.py", line 4, in <module>
  File "/code/model.py", line 9, in build
  File "/lib/tensorflow/x.py", line 64, in call

...which was originally created as op 'other', defined at:
  File "/code/other.py", line 1, in <module>
"""
TWICE = """Variable a already exists, disallowed. Did you mean reuse=True? Originally defined at:

  File "/code/model.py", line 3, in build
  File "/code/train.py", line 12, in <module>
  File "/launch.py", line 79, in run_file
"""


def place(file, line):
    return f"{file.removeprefix('/code/')}:{line}" if file.startswith("/code/") else ""


@pytest.mark.parametrize("text", [SEVERAL, IN_TENSORFLOW_1])
def test_first_of_several_errors_has_users_line(text):
    assert brief(text, place) == (
        "Matrix size-incompatible: In[0]: [2,2], In[1]: [3,2]; "
        "node 'layer/MatMul' is made at model.py:9"
    )


def test_function_of_pipeline_is_reported_without_pipeline():
    text = (
        "Graph execution error:\n\nError in user-defined function passed to ParallelMapDatasetV2:2 "
        "transformation with iterator: Iterator::Root::Prefetch::ParallelMapV2: a.jpg is none\n"
        "\t [[{{node Assert}}]]\n\t [[IteratorGetNext]]"
    )

    assert brief(text, place) == "a.jpg is none"


def test_failed_restore_is_reported_with_its_variable():
    text = (
        "Restoring from checkpoint failed. This is most likely due to x. Original error:\n\n"
        "Key a/b not found in checkpoint\n\t [[node save/RestoreV2 (defined at /a.py:3) ]]\n\n"
        "Original stack trace for 'save/RestoreV2':\n"
        '  File "/code/train.py", line 3, in <module>\n'
    )

    assert brief(text, place, "a/b") == (
        "Restoring from checkpoint failed: Key a/b not found in checkpoint; variable 'a/b'; "
        "node 'save/RestoreV2' is made at train.py:3"
    )


def test_node_of_library_alone_has_no_place():
    assert brief(SEVERAL, lambda file, line: "").endswith("In[1]: [3,2]")


def test_duplicate_variable_is_reported_with_first_line():
    assert brief(TWICE, place) == (
        "Variable a already exists, disallowed. Did you mean reuse=True?; it was made at model.py:3"
    )


def test_any_other_message_stays_as_it_is():
    for text in (
        "",
        "bad rate 3",
        "two\nlines [Op: x]",
        "Node: 'x'\n  File \"/code/a.py\", line 1",
    ):
        assert brief(text, place) == text
