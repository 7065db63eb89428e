import sys

import pytest

from danlu.errors import Unsupported
from danlu_runtime.parameter_server import main


def test_without_tensorflow_a_parameter_server_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow", None)

    with pytest.raises(Unsupported, match="needs TensorFlow, which is not installed here"):
        main()
