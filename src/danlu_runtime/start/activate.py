"""Prepares every Python process of a task before any user code; imports nothing heavy.

``startup/sitecustomize.py`` calls :func:`start`. The variables it reads are described in
docs/reference/environment.md.
"""

import atexit
import os
import sys

from danlu_runtime.start.finder import Finder

TENSORFLOW = "DANLU_TENSORFLOW"
CODE = "DANLU_CODE"
_KERAS_3 = (2, 16)  # the first TensorFlow with Keras 3
_KERAS_2 = ("tf_keras.api._v1.keras", "tf_keras.api._v2.keras")
# Modules that open files and must support object store paths.
_STORES = {
    "tensorflow": "danlu_runtime.tffs:enter",
    "h5py": "danlu_runtime.tffs.formats:enter_hdf5",
    "tf_keras.src.saving.saving_api": "danlu_runtime.tffs.formats:enter_keras_weights",
    "tensorflow.lite.python.convert": "danlu_runtime.tffs.formats:enter_lite",
}
# Parsers that report arguments the script does not define.
_PARSERS = {
    "absl.flags._flagvalues": "danlu_runtime.reports.arguments:amend_absl",
    "argparse": "danlu_runtime.reports.arguments:amend_argparse",
    "click.exceptions": "danlu_runtime.reports.arguments:amend_click",
    "fire.core": "danlu_runtime.reports.arguments:amend_fire",
}
# The value 2 in an unusual form. A child process can recognise the inherited default by it and does
# not take it for the user's choice.
_OUR_LEVEL = "02"

finder = Finder()
_leaves = False


def start() -> None:
    """Install the finder; do nothing outside a task or when called again."""
    version = os.environ.get(TENSORFLOW, "")
    if finder in sys.meta_path or not (version or os.environ.get(CODE)):
        return
    from danlu_runtime import gpus
    from danlu_runtime.old import AFTER, SERVED, amend_loaded

    gpus.keep_to_own()
    amend_loaded()
    finder.amend(AFTER)
    finder.amend(_PARSERS)
    finder.served.update(SERVED)
    if version:
        _choose(version)
    sys.meta_path.insert(0, finder)
    if os.environ.get(CODE):
        from danlu_runtime.repair import loader

        loader.install(os.environ[CODE])


def repair_program() -> None:
    """Restart the process if its own file needs repair; call it before that file runs."""
    if os.environ.get(CODE):
        from danlu_runtime.repair import main

        main.take_over()


def is_first_generation(version: str) -> bool:
    """Return True if a version belongs to TensorFlow 1, the last of which was 1.15."""
    return version.partition(".")[0] in ("0", "1")


def _comes_with_keras_2(version: str) -> bool:
    numbers = [int(part) if part.isdigit() else 0 for part in version.split(".")[:2]]
    return tuple(numbers) < _KERAS_3


def version_seen() -> str:
    """Return the TensorFlow version that the script sees.

    A request for ``1.14`` means 1.14.0, because scripts compare the full version.
    """
    version = os.environ[TENSORFLOW]
    return version if version.count(".") > 1 else f"{version}.0"


def settle(version: str) -> None:
    """Set the variables that TensorFlow needs when it is loaded, unless the user set them."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", _OUR_LEVEL)
    if _comes_with_keras_2(version):
        os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")


def leave_last() -> None:
    """Register the exit handler; call it before all other handlers to make this one run last."""
    global _leaves
    if not _leaves:
        _leaves = True
        atexit.register(_leave)


def _leave() -> None:
    shutdown = sys.modules.get("danlu_runtime.tffs.shutdown")
    if shutdown is not None:
        shutdown.flush_and_close()


def _choose(version: str) -> None:
    # Only if the user did not set it: ``-e TF_CPP_MIN_LOG_LEVEL=0`` shows everything.
    quiet = os.environ.get("TF_CPP_MIN_LOG_LEVEL", _OUR_LEVEL) == _OUR_LEVEL
    settle(version)
    finder.amend(_STORES)
    leave_last()
    if is_first_generation(version):
        finder.amend({"tensorflow": "danlu_runtime.tf1:enter"})
        finder.resolvers["tensorflow"] = "danlu_runtime.tf1.modules:resolve"
    else:
        finder.amend({"tensorflow": "danlu_runtime.tf2:enter"})
        finder.resolvers["tensorflow"] = "danlu_runtime.tf2:resolve"
    finder.resolvers["tensorflow_estimator"] = "danlu_runtime.tf1.estimator:resolve"
    if os.environ.get("TF_USE_LEGACY_KERAS") == "1":
        finder.resolvers["keras"] = "danlu_runtime.keras2:resolve"
        finder.amend(dict.fromkeys(_KERAS_2, "danlu_runtime.keras2:amend"))
    if quiet:
        finder.around["tensorflow"] = "danlu_runtime.reports.quiet:loading"
