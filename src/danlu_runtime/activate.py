"""What every Python process of a task does before anything else: prepare, import nothing heavy.

``startup/sitecustomize.py`` calls :func:`start`. The variables it reads are described in
docs/reference/environment.md.
"""

import atexit
import os
import sys

from danlu_runtime.finder import Finder

TENSORFLOW = "DANLU_TENSORFLOW"
CODE = "DANLU_CODE"
_KERAS_3 = (2, 16)  # the first TensorFlow that came with Keras 3
_KERAS_2 = ("tf_keras.api._v1.keras", "tf_keras.api._v2.keras")
# What opens files and must know paths of object stores.
_STORES = {
    "tensorflow": "danlu_runtime.tffs:enter",
    "h5py": "danlu_runtime.tffs.hdf5:enter",
    "tf_keras.src.saving.saving_api": "danlu_runtime.tffs.keras_weights:enter",
    "tensorflow.lite.python.convert": "danlu_runtime.tffs.lite:enter",
}
# Two, written as nobody else writes it: a child that inherits it can tell that it is not a wish.
_OUR_LEVEL = "02"

finder = Finder()
_leaves = False


def start() -> None:
    """Install the finder; does nothing in a process that is not a task's, or a second time."""
    version = os.environ.get(TENSORFLOW, "")
    if finder in sys.meta_path or not (version or os.environ.get(CODE)):
        return
    from danlu_runtime import cards
    from danlu_runtime.old import AFTER, SERVED, amend_loaded

    cards.keep_to_own()
    amend_loaded()
    finder.amend(AFTER)
    finder.served.update(SERVED)
    if version:
        _choose(version)
    sys.meta_path.insert(0, finder)
    if os.environ.get(CODE):
        from danlu_runtime.repair import loader

        loader.install(os.environ[CODE])


def mend_program() -> None:
    """Start the process again where its own file needs repair; before that file runs."""
    if os.environ.get(CODE):
        from danlu_runtime.repair import main

        main.take_over()


def is_first_generation(version: str) -> bool:
    """Tell whether a version is of the TensorFlow whose API ended with 1.15."""
    return version.partition(".")[0] in ("0", "1")


def _comes_with_keras_2(version: str) -> bool:
    numbers = [int(part) if part.isdigit() else 0 for part in version.split(".")[:2]]
    return tuple(numbers) < _KERAS_3


def version_seen() -> str:
    """Return what the script sees: who asks for ``1.14`` means 1.14.0, and scripts compare it."""
    version = os.environ[TENSORFLOW]
    return version if version.count(".") > 1 else f"{version}.0"


def settle(version: str) -> None:
    """Set the variables that must be there when TensorFlow is loaded, unless the user did."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", _OUR_LEVEL)
    if _comes_with_keras_2(version):
        os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")


def leave_last() -> None:
    """To be called before anybody else registers an end of the process: so ours is the last."""
    global _leaves
    if not _leaves:
        _leaves = True
        atexit.register(_leave)


def _leave() -> None:
    leaving = sys.modules.get("danlu_runtime.tffs.leaving")
    if leaving is not None:
        leaving.leave()


def _choose(version: str) -> None:
    # Only where the user asked for nothing: ``-e TF_CPP_MIN_LOG_LEVEL=0`` shows everything.
    quiet = os.environ.get("TF_CPP_MIN_LOG_LEVEL", _OUR_LEVEL) == _OUR_LEVEL
    settle(version)
    finder.amend(_STORES)
    leave_last()
    if is_first_generation(version):
        finder.amend({"tensorflow": "danlu_runtime.tf1:enter"})
        finder.resolvers["tensorflow"] = "danlu_runtime.tf1.paths:resolve"
    else:
        finder.amend({"tensorflow": "danlu_runtime.tf2:enter"})
        finder.resolvers["tensorflow"] = "danlu_runtime.tf2:resolve"
    finder.resolvers["tensorflow_estimator"] = "danlu_runtime.tf1.estimator:resolve"
    if os.environ.get("TF_USE_LEGACY_KERAS") == "1":
        finder.resolvers["keras"] = "danlu_runtime.keras2:resolve"
        finder.amend(dict.fromkeys(_KERAS_2, "danlu_runtime.keras2:amend"))
    if quiet:
        finder.around["tensorflow"] = "danlu_runtime.quiet:loading"
