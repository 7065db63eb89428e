"""The older module path of ``mox.file``, with all its functions and the constants scripts set.

    file_io._NUMBER_OF_PROCESSES = 1

The constants tuned a copy that hung with many processes and lost connections with large files.
Here, threads copy the files, and large files are transferred in parts. Setting the constants is
harmless and has no effect.
"""

from moxing.framework.file.auth import set_auth as set_auth
from moxing.framework.file.copying import background_sync_copy as background_sync_copy
from moxing.framework.file.copying import copy as copy
from moxing.framework.file.copying import copy_parallel as copy_parallel
from moxing.framework.file.errors import (
    MoxFileNameDuplicateException as MoxFileNameDuplicateException,
)
from moxing.framework.file.errors import MoxFileNotExistsException as MoxFileNotExistsException
from moxing.framework.file.errors import MoxFileReadException as MoxFileReadException
from moxing.framework.file.errors import MoxFileRespException as MoxFileRespException
from moxing.framework.file.errors import _MoxFileBaseRespException as _MoxFileBaseRespException
from moxing.framework.file.look import exists as exists
from moxing.framework.file.look import get_size as get_size
from moxing.framework.file.look import glob as glob
from moxing.framework.file.look import is_directory as is_directory
from moxing.framework.file.look import list_directory as list_directory
from moxing.framework.file.look import scan_dir as scan_dir
from moxing.framework.file.look import stat as stat
from moxing.framework.file.look import walk as walk
from moxing.framework.file.shifting import shift as shift
from moxing.framework.file.stream import File as File
from moxing.framework.file.stream import append as append
from moxing.framework.file.stream import append_remote as append_remote
from moxing.framework.file.stream import make_dirs as make_dirs
from moxing.framework.file.stream import mk_dir as mk_dir
from moxing.framework.file.stream import read as read
from moxing.framework.file.stream import remove as remove
from moxing.framework.file.stream import rename as rename
from moxing.framework.file.stream import write as write

_NUMBER_OF_PROCESSES = 16
_LARGE_FILE_METHOD = 1
_LARGE_FILE_TASK_NUM = 32
_LARGE_FILE_PART_SIZE = 10 << 20
_PARTIAL_MAXIMUM_SIZE = 5 << 30
