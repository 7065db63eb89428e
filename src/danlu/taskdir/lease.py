"""The file ``lease.json`` in ``DANLU_HOME``: how long the server there may still start tasks.

A server that shares its database with other servers writes it. The agents that it starts read it.
Times are seconds since boot. They are the same for all processes of the machine and do not depend
on the wall clock. They also advance while a process is stopped.
"""

import json
import time
from dataclasses import dataclass
from pathlib import Path

from danlu.atomic_file import write_whole
from danlu.taskdir.processes import boot_id

_NAME = "lease.json"


@dataclass(frozen=True)
class LocalLease:
    fence: int
    until: float

    def seconds_since_expiry(self) -> float:
        """Return the seconds since the lease expired. Negative while the lease is valid."""
        return since_boot() - self.until


def since_boot() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def write_lease(home: Path, lease: LocalLease) -> None:
    data = {"fence": lease.fence, "until": lease.until, "boot": boot_id()}
    write_whole(home / _NAME, json.dumps(data))


def read_lease(home: Path) -> LocalLease:
    """Return the lease in ``home``.

    If no lease was written since boot, return one that expired at boot.
    """
    try:
        data = json.loads((home / _NAME).read_bytes())
        if data["boot"] == boot_id():
            return LocalLease(int(data["fence"]), float(data["until"]))
    except (FileNotFoundError, ValueError, TypeError, KeyError):
        pass
    return LocalLease(0, 0.0)
