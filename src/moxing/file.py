"""``moxing.file`` is ``moxing.framework.file``, under its shorter name."""

import sys

from moxing.framework import file
from moxing.framework.file import file_io

sys.modules[__name__] = file
sys.modules[f"{__name__}.file_io"] = file_io
