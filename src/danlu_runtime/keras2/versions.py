"""Which Keras the script was written for, by the version of TensorFlow it asked for."""

import os

from danlu_runtime.activate import TENSORFLOW, is_first_generation

_STANDALONE = "2.3.1"  # the last Keras that was not a part of TensorFlow
_INSIDE = {  # tf.keras.__version__ by TensorFlow's
    "1": "2.2.4-tf",
    "2.0": "2.2.4-tf",
    "2.1": "2.2.4-tf",
    "2.2": "2.3.0-tf",
    "2.3": "2.4.0",
}


def tensorflow() -> tuple[int, int]:
    """Return the version asked for, (1, 15) where it has no numbers."""
    parts = os.environ.get(TENSORFLOW, "").split(".")[:2]
    numbers = [int(part) for part in parts if part.isdigit()]
    return (numbers[0], numbers[1]) if len(numbers) == 2 else (1, 15)


def first_generation() -> bool:
    return is_first_generation(os.environ.get(TENSORFLOW, ""))


def of_standalone_keras() -> str:
    return _STANDALONE if first_generation() else of_tensorflow_keras()


def of_tensorflow_keras() -> str:
    major, minor = tensorflow()
    if major < 2:
        return _INSIDE["1"]
    return _INSIDE.get(f"{major}.{minor}", f"{major}.{minor}.0")
