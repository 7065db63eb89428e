"""The real agent with its task directory in an object store, as a Ray node would run it.

Started as ``ray_agent.py STORE HOME JOB ATTEMPT TASK`` with the secrets on its standard input:
they never travel through the store.
"""

import ctypes
import json
import logging
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

from danlu.agent.life import live
from danlu.settings import Settings
from danlu.storage.local import FileStorage
from danlu.taskdir.files import TaskDir
from danlu.taskdir.store import StoreCarrier

_PR_SET_PDEATHSIG = 1


class HandedTaskDir(TaskDir):
    """A task directory whose secrets were handed over beside the store."""

    handed: Mapping[str, str] = {}

    def take_secrets(self) -> Mapping[str, str]:
        return self.handed


def main(store: str, home: str, job: str, attempt: str, task: str) -> None:
    # The actor that holds us is gone when its node is: no agent is left without one.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    logging.basicConfig(level=logging.INFO)
    carrier = StoreCarrier(FileStorage(Path(store), plain=False), f"jobs/{job}")
    files = HandedTaskDir(carrier, int(attempt), task)
    files.handed = json.load(sys.stdin)
    live(files, Settings(home=Path(home)))


if __name__ == "__main__":
    main(*sys.argv[1:])
