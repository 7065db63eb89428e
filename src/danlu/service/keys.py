"""The secrets of living jobs: one file each, for the owner's eyes only.

They are kept so that a retry has them too, and removed when the job has ended. They are in no
record, no plan, no log and no argument list.
"""

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from danlu.dialects.form import VARIABLE
from danlu.service.startable import LONGEST_WORD, too_long


def check_secrets(request: Mapping[str, Any], values: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return what is wrong with the secrets of a request: names without values, and odd ones."""
    named = request.get("secrets") or ()
    named = named if isinstance(named, list | tuple) else ()
    faults = [
        (f"secrets.{name}", "is named and has no value; it comes beside the request, never in it.")
        for name in named
        if name not in values
    ]
    for name, value in values.items():
        if not VARIABLE.fullmatch(name) or name.startswith("DANLU_"):
            faults.append((f"secrets.{name}", "cannot be the name of a variable of the script."))
        elif not isinstance(value, str) or "\0" in value:
            faults.append((f"secrets.{name}", "must be text without NUL characters."))
        elif too_long(f"{name}={value}"):
            sentence = f"is longer than the {LONGEST_WORD:,} bytes a variable can have."
            faults.append((f"secrets.{name}", sentence))
    return faults


class SecretFiles:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._given: set[str] = set()  # jobs this process was given secrets for

    def keep(self, job_id: str, secrets: Mapping[str, str]) -> None:
        if not secrets:
            return
        self._given.add(job_id)
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        target = self._path(job_id)
        temporary = target.with_suffix(".tmp")
        temporary.unlink(missing_ok=True)
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(dict(secrets), file)
        os.replace(temporary, target)

    def of(self, job_id: str) -> Mapping[str, str]:
        try:
            found: dict[str, str] = json.loads(self._path(job_id).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        return found

    def drop(self, job_id: str) -> None:
        self._given.discard(job_id)
        self._path(job_id).unlink(missing_ok=True)

    def drop_all_but(self, living: Iterable[str]) -> None:
        """Remove what a crash between two steps may have left.

        What came while the living were counted is not a rest: a job has its secrets first.
        """
        keep = {*living, *self._given}
        for path in self._folder.glob("*"):
            if path.stem not in keep and not path.is_dir():
                path.unlink(missing_ok=True)

    def _path(self, job_id: str) -> Path:
        return self._folder / f"{job_id}.json"
