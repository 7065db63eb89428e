"""Object store paths for libraries that open files without TensorFlow: HDF5, Keras, TF Lite.

``h5py.File("obs://bucket/model.h5", "w")`` writes a local file, which becomes an object when it is
closed. A file opened for reading is downloaded first.
"""

import functools
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from danlu.messages import get_message

_NEW = ("w", "w-", "x")


def enter_hdf5(module: ModuleType) -> None:
    """Patch ``h5py.File`` to accept store paths; called when h5py has been loaded."""
    kind = module.File
    open_local, close_local = kind.__init__, kind.close

    def __init__(self: Any, name: Any, mode: str = "r", *args: Any, **kwargs: Any) -> None:
        if not _may_be_remote(name):
            open_local(self, name, mode, *args, **kwargs)
            return
        copy = LocalCopy(name, mode)
        try:
            open_local(self, copy.path, mode, *args, **kwargs)
        except BaseException:
            copy.remove()
            raise
        _copies[self.id.id] = copy

    def close(self: Any) -> None:
        copy = _copies.pop(self.id.id, None) if self.id.valid else None
        close_local(self)
        if copy:
            copy.finish()

    kind.__init__, kind.close = __init__, close


class LocalCopy:
    """A local copy of an object; ``finish`` stores it if it was opened for writing.

    The copy is deleted when this process exits at the latest. A forked process leaves it alone.
    """

    def __init__(self, name: Any, mode: str) -> None:
        from danlu.storage import paths

        self._name = paths.text(name)
        self._folder = tempfile.mkdtemp(prefix="danlu-hdf5-")
        self._owner = os.getpid()
        self.remove = weakref.finalize(self, _remove, self._folder, self._owner)
        self._changes = mode != "r"
        self.path = os.path.join(self._folder, os.path.basename(self._name) or "file.h5")
        try:
            self._fetch(mode)
        except BaseException:
            self.remove()  # delete it now, because the traceback keeps this object alive
            raise

    def _fetch(self, mode: str) -> None:
        from danlu.storage import paths

        if mode in ("w-", "x") and paths.exists(self._name):
            raise FileExistsError(get_message("tffs.exists", path=self._name))
        if mode not in _NEW and (mode != "a" or paths.is_file(self._name)):
            with paths.open_read(self._name) as source, open(self.path, "wb") as target:
                shutil.copyfileobj(source, target, 1 << 20)

    def finish(self) -> None:
        from danlu.storage.paths_lookup import file_key, place

        try:
            if self._changes and self._owner == os.getpid():
                location = place(self._name)
                with open(self.path, "rb") as source:
                    location.storage.write(file_key(location), source)
        finally:
            self.remove()


def _remove(folder: str, owner: int) -> None:
    if owner == os.getpid():
        shutil.rmtree(folder, ignore_errors=True)


_copies: dict[int, LocalCopy] = {}


def _may_be_remote(name: Any) -> bool:
    # The storage modules are not imported here, because most HDF5 files are local.
    if not isinstance(name, str | bytes | os.PathLike):
        return False
    scheme = os.fsdecode(name).partition(":/")[0].lower()
    return scheme in ("s3", "obs", "ks3", "cos")


def enter_keras_weights(module: Any) -> None:
    """Patch the loading of weights; called when ``tf_keras.src.saving.saving_api`` is loaded.

    The path of weights in TensorFlow's format is the prefix of several files. tf-keras 2.21
    downloads a path that it takes for one HDF5 file. With TensorFlow 1 behaviour it takes every
    path without an extension for one.
    """
    brought: Any = module.SupportReadFromRemote

    class SupportReadFromRemote(brought):
        def __init__(self, filepath: Any) -> None:
            from tensorflow.python.lib.io import file_io

            if file_io.file_exists_v2(filepath):
                super().__init__(filepath)
            else:
                self.temp_directory, self.local_filepath = None, filepath

    module.SupportReadFromRemote = SupportReadFromRemote


def enter_lite(module: Any) -> None:
    """Patch the converter; called when ``tensorflow.lite.python.convert`` is loaded.

    The converter holds the GIL while its own threads read the model. Reading from a store needs the
    GIL and would deadlock. Therefore the model is downloaded first.
    """
    convert = module.convert_saved_model

    @functools.wraps(convert)
    def convert_saved_model(**flags: Any) -> Any:
        with _brought(flags) as here:
            return convert(**here)

    module.convert_saved_model = convert_saved_model


@contextmanager
def _brought(flags: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the flags of a conversion, with a local copy of a model in a store."""
    from danlu.storage.paths_lookup import folder_at, is_remote, place
    from danlu.storage.transfer import pull

    name = flags.get("saved_model_dir")
    if name is None or not is_remote(name):
        yield flags
        return
    location = place(name)
    found = replace(location, key=folder_at(location) or location.key)
    with tempfile.TemporaryDirectory(prefix="danlu-lite-") as folder:
        pull(found, Path(folder))
        yield {**flags, "saved_model_dir": folder}
