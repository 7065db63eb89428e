"""HDF5 files in object stores: Keras writes them with h5py, which knows files of a disk only.

``h5py.File("obs://bucket/model.h5", "w")`` is a file of this machine meanwhile, and an object when
it is closed. What is opened to read is brought here first.
"""

import os
import shutil
import tempfile
import weakref
from types import ModuleType
from typing import Any

_NEW = ("w", "w-", "x")


def enter(module: ModuleType) -> None:
    """Let ``h5py.File`` take paths of stores; called when h5py has been loaded."""
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
    """A file of this machine for an object; ``finish`` stores it where it was opened to write.

    It goes with this process at the latest; a fork leaves it to whom it belongs.
    """

    def __init__(self, name: Any, mode: str) -> None:
        from danlu.storage import paths

        self._name = paths.text(name)
        self._folder = tempfile.mkdtemp(prefix="danlu-hdf5-")
        self._owner = os.getpid()
        self.remove = weakref.finalize(self, _remove, self._folder, self._owner)
        self._changes = mode != "r"
        self.path = os.path.join(self._folder, os.path.basename(self._name) or "file.h5")
        if mode in ("w-", "x") and paths.exists(self._name):
            raise FileExistsError(f"{self._name!r} is there already.")
        if mode not in _NEW and (mode != "a" or paths.is_file(self._name)):
            with paths.open_read(self._name) as source, open(self.path, "wb") as target:
                shutil.copyfileobj(source, target, 1 << 20)

    def finish(self) -> None:
        from danlu.storage.paths_place import file_key, place

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
    # Without importing what reaches stores: most HDF5 files are on a disk.
    if not isinstance(name, str | bytes | os.PathLike):
        return False
    scheme = os.fsdecode(name).partition(":/")[0].lower()
    return scheme in ("s3", "obs", "ks3", "cos")
