"""python threads_copy.py up|down FOLDER BUCKET PREFIX: as job_copy.py, without the multiplexer.

Small objects go through 16 threads, each with a connection of urllib3, and listings through
urllib3 too: what the client would do if the multiplexer were removed.
"""

import contextlib
import runpy
from collections.abc import Iterator
from pathlib import Path

from danlu.storage.s3.bucket import Bucket
from danlu.storage.s3.storage import S3Storage


@contextlib.contextmanager
def without_lanes(*_: object) -> Iterator[None]:
    yield None


Bucket._lanes = without_lanes  # type: ignore[method-assign]
del S3Storage.gather, S3Storage.scatter

runpy.run_path(str(Path(__file__).with_name("job_copy.py")))
