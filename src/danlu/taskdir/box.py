"""What agent and child say to each other: two files in a folder both can see.

The child sees nothing else of the platform: not the task directory, not ``DANLU_HOME``.

    launch.json     what to run, written by the agent
    failure.json    what the child knows of its own failure, written by the child
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from danlu.job.status import Failure
from danlu.job.wire import from_wire, to_wire

LAUNCH = "launch.json"
FAILURE = "failure.json"


@dataclass(frozen=True)
class Launch:
    """What the child runs; every path is the one it sees."""

    run: str
    args: tuple[str, ...]
    module: bool
    sys_path: tuple[str, ...]
    code: str  # the user's own files lie below it
    mapped: Mapping[str, str] = field(
        default_factory=dict
    )  # fixed path -> real one, at Python level


class Box:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write_launch(self, launch: Launch) -> None:
        self._write(LAUNCH, to_wire(launch))

    def launch(self) -> Launch:
        return from_wire(Launch, json.loads((self.folder / LAUNCH).read_bytes()))

    def write_failure(self, failure: Failure) -> None:
        self._write(FAILURE, to_wire(failure))

    def failure(self) -> Failure | None:
        """Return what the child said; None where it said nothing that can be understood."""
        try:
            return from_wire(Failure, json.loads((self.folder / FAILURE).read_bytes()))
        except (OSError, ValueError, TypeError, KeyError):
            return None  # the script can write here too: nothing in it is trusted

    def _write(self, name: str, data: object) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        temporary = self.folder / f".{name}.tmp"
        temporary.write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")
        os.replace(temporary, self.folder / name)
