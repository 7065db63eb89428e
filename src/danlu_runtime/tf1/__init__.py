"""TensorFlow 1 for the script: what ``import tensorflow`` gives is a facade over 2.21."""

import os
from types import ModuleType


def enter(real: ModuleType) -> ModuleType:
    """Turn TensorFlow 2 into what the script expects; return what it gets as ``tensorflow``.

    Called once, when TensorFlow has been loaded and before the script sees it.
    """
    import numpy

    from danlu_runtime import steps
    from danlu_runtime.tf1 import before_one, flags, keras, logs, restored, restored_rnn, session
    from danlu_runtime.tf1.facade import Facade

    numpy.set_printoptions(legacy="1.25")  # numpy 2 prints np.float32(0.5) inside lists
    real.compat.v1.disable_v2_behavior()
    restored.restore()
    restored_rnn.restore()
    before_one.accept()
    flags.tolerate()
    logs.print_once()
    session.place_softly()
    keras.accept_old_calls()
    steps.install()
    return Facade(real, _full(os.environ["DANLU_TENSORFLOW"]))


def _full(version: str) -> str:
    """``1.14`` is asked for by people who mean 1.14.0, and scripts compare the whole."""
    return version if version.count(".") > 1 else f"{version}.0"
