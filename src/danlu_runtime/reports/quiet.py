"""Filters TensorFlow's noise out of stderr; all other lines are kept.

TensorFlow 2.21 has no option for what C++ prints while it is loaded. Therefore stderr is redirected
to a file during loading and copied back without the known lines. Any value of TF_CPP_MIN_LOG_LEVEL
that the user sets turns the filter off.
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
    """Context manager for loading TensorFlow without noise."""
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
    """Make TensorFlow look for GPUs now, because its first search prints an error without GPUs."""
    from tensorflow.python import pywrap_tfe

    pywrap_tfe.TF_ListPhysicalDevices()


@contextmanager
def without_noise() -> Iterator[None]:
    """Redirect stderr while the block runs, then copy it back without noise."""
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
