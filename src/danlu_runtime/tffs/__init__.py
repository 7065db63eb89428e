"""Paths of object stores inside TensorFlow: ``obs://``, ``s3://``, ``ks3://`` and ``cos://``.

    shim.c          what TensorFlow loads: its tables of functions, and the bytes of local files
    build.py        makes the library of it, once
    bridge.py       from C to Python and back
    operations.py   what is done with a path
    files.py        files that TensorFlow has open
    faults.py       which status an error is
    leaving.py      the end of the process, and forks
    summaries.py    writers of summaries that are left open
    hdf5.py         HDF5 files of Keras, which do not go through TensorFlow
    keras_weights.py    weights that are several files
    lite.py         models for TensorFlow Lite

docs/design/tensorflow-files.md says why it is made this way.
"""

from types import ModuleType

_registered = False


def enter(_: ModuleType) -> None:
    """Called when TensorFlow has been loaded, before the script sees it."""
    register()


def register() -> None:
    """Give TensorFlow the schemes, once per process; TensorFlow must have been loaded.

    Nothing that reaches a store is imported before the first path is used.
    """
    global _registered
    if _registered:
        return
    _registered = True
    from danlu_runtime import notes
    from danlu_runtime.tffs import build

    try:
        library = build.library()
    except build.NoLibrary as error:
        notes.say(str(error))
        return
    from danlu_runtime.tffs import bridge

    bridge.connect(library)
