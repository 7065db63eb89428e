"""python job_copy.py up|down FOLDER BUCKET PREFIX: as a job brings its inputs and its outputs."""

import sys
from pathlib import Path

from danlu.settings import load
from danlu.storage.locate import Stores
from danlu.storage.transfer import pull, push

how, folder, bucket, prefix = sys.argv[1:]
place = Stores.of(load()).at(f"s3://{bucket}/{prefix}/")
if how == "up":
    push(Path(folder), place, final=True)
else:
    pull(place, Path(folder))
