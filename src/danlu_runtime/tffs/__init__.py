"""Object store paths in TensorFlow: ``obs://``, ``s3://``, ``ks3://`` and ``cos://``.

``shim.c``: the library that TensorFlow loads. ``build``: finds or builds it.
``bridge``, ``operations``: callbacks from C to Python, and the operations on paths.
``files``: open files; drafts are stored when they are flushed or closed.
``formats``: HDF5, Keras weights and TensorFlow Lite, which do not use TensorFlow's files.
``shutdown``: the end of the process, forks, and open summary writers.

Design: docs/design/tensorflow-files.md
"""

from types import ModuleType

_registered = False


def enter(_: ModuleType) -> None:
    """Register the schemes; called after TensorFlow is loaded, before the script sees it."""
    register()


def register() -> None:
    """Register the URL schemes with TensorFlow, once per process; TensorFlow must be loaded.

    Storage modules are imported only when the first path is used.
    """
    global _registered
    if _registered:
        return
    _registered = True
    from danlu_runtime.reports import notes
    from danlu_runtime.tffs import build

    try:
        library = build.library()
    except build.NoLibrary as error:
        notes.print_message(str(error))
        return
    from danlu_runtime.tffs import bridge

    bridge.connect(library)
