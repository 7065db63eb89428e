"""Files of a working directory that are kept after the end of their job."""

import posixpath
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

FOLDER = "kept"  # their folder in the task directory

# Checkpoints of TensorFlow, and the file types of trained models.
_CHECKPOINT = re.compile(r"checkpoint|.+\.(index|meta|data-\d{5}-of-\d{5})|.*ckpt.*", re.IGNORECASE)
_MODEL = re.compile(
    r".+\.(pb|pbtxt|h5|hdf5|keras|tflite|pkl|pickle|joblib|npz|npy|pt|pth|onnx|params|model"
    r"|weights|caffemodel|safetensors|bin|mar)",
    re.IGNORECASE,
)
_SAVED_MODEL = ("saved_model.pb", "saved_model.pbtxt")


@dataclass(frozen=True)
class KeptFile:
    """A kept file. ``path`` is relative to the working directory.

    ``only`` is True for the only copy of a file of a model.
    """

    path: str
    size: int
    written: float  # Unix time
    only: bool = False


@dataclass(frozen=True)
class KeptFiles:
    """The kept files of one task. ``removed`` is the number of files deleted to free space."""

    files: tuple[KeptFile, ...] = ()
    until: float = 0.0  # Unix time
    removed: int = 0

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)

    @property
    def models(self) -> int:
        return sum(file.only for file in self.files)


def models_in(paths: Collection[str]) -> set[str]:
    """Return the paths that belong to a trained model.

    They are recognised by name. All files of a SavedModel belong to it, because its assets may have
    any name.
    """
    folders = {
        posixpath.dirname(path) for path in paths if posixpath.basename(path) in _SAVED_MODEL
    }
    return {path for path in paths if _is_model(path) or _is_in(path, folders)}


def _is_model(path: str) -> bool:
    name = posixpath.basename(path)
    return bool(_CHECKPOINT.fullmatch(name) or _MODEL.fullmatch(name))


def _is_in(path: str, folders: Iterable[str]) -> bool:
    return any(not folder or path.startswith(f"{folder}/") for folder in folders)
