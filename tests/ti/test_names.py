"""The names of the package itself."""

import subprocess
import sys

import pytest

import ti


@pytest.mark.parametrize("name", ti.__all__)
def test_every_name_is_there_on_request(name):
    assert getattr(ti, name).__name__.rpartition(".")[2] == name


def test_no_other_is():
    with pytest.raises(AttributeError, match="module 'ti' has no attribute 'nonsense'"):
        ti.nonsense  # noqa: B018


def test_a_submodule_needs_no_import_of_its_own():
    program = "import ti\nprint(ti.tensorflow.TensorFlow, ti.session.Session is ti.Session)"

    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)

    assert output.stdout == "<class 'ti.tensorflow.estimator.TensorFlow'> True\n"
