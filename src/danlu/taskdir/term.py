"""``lease.json`` in the home: how long the server there may still start tasks.

Written by a server that shares its records with others, read by the agents it starts. Times are
seconds since the machine was booted: they are the same for all its processes, no change of the
clock moves them, and a process that was stopped finds that they have passed.
"""

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path

from danlu.taskdir.process import boot_id

_NAME = "lease.json"


@dataclass(frozen=True)
class Term:
    fence: int
    until: float

    def ended_for(self) -> float:
        """Return seconds since its end; below zero while it lasts."""
        return since_boot() - self.until


def since_boot() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def write_term(home: Path, term: Term) -> None:
    target = home / _NAME
    temporary = target.with_name(f".{_NAME}.tmp")
    told = {"fence": term.fence, "until": term.until, "boot": boot_id()}
    temporary.write_text(json.dumps(told), encoding="ascii")
    os.replace(temporary, target)


def read_term(home: Path) -> Term:
    """Return the term of a home; one that ended at boot where nobody has written any since."""
    try:
        told = json.loads((home / _NAME).read_bytes())
        if told["boot"] == boot_id():
            return Term(int(told["fence"]), float(told["until"]))
    except (FileNotFoundError, ValueError, TypeError, KeyError):
        pass
    return Term(0, 0.0)
