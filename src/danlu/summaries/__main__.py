"""``python -m danlu.summaries``: a line of event files in, a line of curves out.

A request is a JSON list of pairs, run and path; the answer is a JSON object, the curves as the
task directory holds them, or ``null`` where nothing is new. The process ends with its input.
"""

import contextlib
import json
import logging
import os
import resource
import sys

from danlu.job.wire import to_wire
from danlu.summaries.collect import Collection

_MEMORY = 4 << 30  # a file of a script may claim to hold anything
_LOW = 10


def main() -> int:
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s %(message)s")
    with contextlib.suppress(OSError):
        os.nice(_LOW)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    collection = Collection()
    for line in sys.stdin:
        changed = collection.read((str(run), str(path)) for run, path in json.loads(line))
        print(json.dumps(to_wire(collection.curves()) if changed else None), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
