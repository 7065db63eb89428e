"""Weights in TensorFlow's own format: a path that is the beginning of several files.

tf-keras 2.21 copies what it takes for one HDF5 file from a store to the disk, and where the
behaviour of TensorFlow 1 is on it takes every path without an ending for one.
"""

from types import ModuleType
from typing import Any


def enter(module: ModuleType) -> None:
    """Called when ``tf_keras.src.saving.saving_api`` has been loaded."""
    brought: Any = module.SupportReadFromRemote

    class SupportReadFromRemote(brought):  # type: ignore[misc]
        def __init__(self, filepath: Any) -> None:
            from tensorflow.python.lib.io import file_io

            if file_io.file_exists_v2(filepath):
                super().__init__(filepath)
            else:
                self.temp_directory, self.local_filepath = None, filepath

    module.SupportReadFromRemote = SupportReadFromRemote  # type: ignore[attr-defined]
