"""What every tool's program does: print that it is ready, then start a job for each line."""

import json
import sys
import time
from collections.abc import Callable, Mapping


def serve(submit: Callable[[], object], env: Mapping[str, str] | None = None) -> None:
    """Call ``submit`` for each line of stdin and answer with the moment it was called.

    ``submit`` returns when its job has ended. ``env``: by what a command line finds this one.
    """
    answers, sys.stdout = sys.stdout, sys.stderr  # what a tool prints is no answer
    print(json.dumps({"env": dict(env or {})}), file=answers, flush=True)
    for _ in sys.stdin:
        began = time.monotonic()
        submit()
        print(json.dumps({"began": began}), file=answers, flush=True)
