"""``mox.file``: one set of functions for files of this machine and of object stores.

``moxing.file`` and ``file`` of every engine are this module.

``file_io``: the older path of all functions. ``stream``: open, read, write and remove.
``look``: exists, stat, list, glob and walk. ``errors``: exceptions. ``auth``: other credentials.
``copying``, ``trees``, ``transfer``: copies; the files to copy; copying them in parallel.
``shifting``: ``shift('os', 'mox')`` lets Python's own functions accept object store paths.
``where``: whether a path is local or in a store.
"""

from moxing.framework.file.file_io import (
    File,
    MoxFileNameDuplicateException,
    MoxFileNotExistsException,
    MoxFileReadException,
    MoxFileRespException,
    append,
    append_remote,
    background_sync_copy,
    copy,
    copy_parallel,
    exists,
    get_size,
    glob,
    is_directory,
    list_directory,
    make_dirs,
    mk_dir,
    read,
    remove,
    rename,
    scan_dir,
    set_auth,
    shift,
    stat,
    walk,
    write,
)

__all__ = [
    "File",
    "MoxFileNameDuplicateException",
    "MoxFileNotExistsException",
    "MoxFileReadException",
    "MoxFileRespException",
    "append",
    "append_remote",
    "background_sync_copy",
    "copy",
    "copy_parallel",
    "exists",
    "get_size",
    "glob",
    "is_directory",
    "list_directory",
    "make_dirs",
    "mk_dir",
    "read",
    "remove",
    "rename",
    "scan_dir",
    "set_auth",
    "shift",
    "stat",
    "walk",
    "write",
]
