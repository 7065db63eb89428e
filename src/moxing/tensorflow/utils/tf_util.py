"""The version of TensorFlow, for scripts."""

import re

import tensorflow as tf


def version_info() -> tuple[int, int, int]:
    """Return the version as scripts compare it: ``version_info() >= (1, 13, 0)``."""
    major, minor, patch = (int(number) for number in re.findall(r"\d+", tf.__version__)[:3])
    return major, minor, patch
