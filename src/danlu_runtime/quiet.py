"""Keeps TensorFlow's noise out of a log; every other line stays as it is.

What C++ prints while TensorFlow is loaded has no switch in 2.21, so standard error is set aside
meanwhile and given back without the known lines. Turned off by TF_CPP_MIN_LOG_LEVEL, whatever its
value: who sets it wants to decide.
"""

import os
import re
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from danlu_runtime.gpus import has_gpu

_NOISE = re.compile(
    rb"WARNING: All log messages before absl::InitializeLog\(\)"
    rb"|[IW]\d{4} \d\d:\d\d:[\d.]+ +\d+ \w+\.cc:\d+\] "
    rb"|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+: [IW] \S+\.cc:\d+\] "
    rb"|E\d{4} .* cuda_platform\.cc:\d+\] failed call to cuInit"
    rb"|To enable the following instructions: "
)
_DEPRECATION_WALLS = (
    r".*`tf\.layers\..*` is deprecated",
    r".*`layer\.\w+` is deprecated",
    r".*`tf\.nn\.rnn_cell\..*` is deprecated",
    r".*`[Mm]odel\.\w+` (is deprecated|will be removed)",
    r".*The name tf\.[\w.]+ is deprecated",
    r".*`tf\.keras\.backend\.\w+` is deprecated",
    r".*The `lr` argument is deprecated",
    r".*You are saving your model as an HDF5 file",
)


@contextmanager
def loading() -> Iterator[None]:
    """Load TensorFlow inside."""
    with without_noise():
        yield
        _hush_python()
        if not has_gpu():
            _look_for_gpus()


def _hush_python() -> None:
    for wall in _DEPRECATION_WALLS:
        warnings.filterwarnings("ignore", message=wall)
    from tensorflow.python.util import deprecation

    deprecation._PRINT_DEPRECATION_WARNINGS = False


def _look_for_gpus() -> None:
    """TensorFlow complains of having none the first time it looks, whenever that is."""
    from tensorflow.python import pywrap_tfe

    pywrap_tfe.TF_ListPhysicalDevices()


@contextmanager
def without_noise() -> Iterator[None]:
    """Hold standard error back while something noisy runs inside."""
    try:
        own = os.dup(2)
    except OSError:  # closed by the script
        yield
        return
    with tempfile.TemporaryFile() as aside:
        os.dup2(aside.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(own, 2)
            os.close(own)
            aside.seek(0)
            for line in aside:
                if not _NOISE.match(line):
                    os.write(2, line)
