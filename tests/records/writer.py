"""Writes jobs until it is killed, and prints each acknowledged write.

Lines: ``added <token> <id>`` and ``saved <id> <version>``.
"""

import itertools
import sys
from pathlib import Path

from danlu.job.job import Job, new_id
from danlu.job.spec import JobSpec
from danlu.records.sql import open_records


def main(path: str, label: str) -> None:
    records = open_records(Path(path))
    for number in itertools.count():
        token = f"{label}-{number}"
        spec = JobSpec(token, "modelarts", "danlu://code/0.tar.gz", "train.py")
        job = records.add(Job(new_id(), token, spec, 0.0), token)
        print("added", token, job.id, flush=True)
        for _ in range(3):
            saved = records.save(job)
            if saved is None:
                raise SystemExit("somebody else wrote")
            job = saved
            print("saved", job.id, job.version, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
