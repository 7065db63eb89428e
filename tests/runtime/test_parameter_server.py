import sys

import pytest

from danlu.errors import Unsupported
from danlu_runtime.cluster import main


def test_parameter_server_without_tensorflow_is_reported(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow", None)

    with pytest.raises(Unsupported, match="needs TensorFlow, which is not installed here"):
        main()
