"""The secrets of jobs that have not ended, one file per job with mode 0600.

The files are kept because a retry needs them, and removed when the job has ended. Secrets are
never in a record, a plan, a log or an argument list.
"""

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from danlu.atomic_file import PREFIX, write_whole
from danlu.dialects.form import VARIABLE
from danlu.messages import get_message
from danlu.service.jobs.draft import MAX_VARIABLE, too_long


def check_secrets(request: Mapping[str, Any], values: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the faults of the secrets of a request: missing values, invalid names or values."""
    named = request.get("secrets") or ()
    named = named if isinstance(named, list | tuple) else ()
    faults = [
        (f"secrets.{name}", get_message("fault.secret_missing"))
        for name in named
        if name not in values
    ]
    for name, value in values.items():
        if not VARIABLE.fullmatch(name) or name.startswith("DANLU_"):
            faults.append((f"secrets.{name}", get_message("fault.secret_name")))
        elif not isinstance(value, str) or "\0" in value:
            faults.append((f"secrets.{name}", get_message("fault.secret_text")))
        elif too_long(f"{name}={value}"):
            sentence = get_message("fault.secret_long", longest_word=MAX_VARIABLE)
            faults.append((f"secrets.{name}", sentence))
    return faults


class SecretFiles:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._given: set[str] = set()  # jobs submitted to this process with secrets

    def keep(self, job_id: str, secrets: Mapping[str, str]) -> None:
        if not secrets:
            return
        self._given.add(job_id)
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(self._path(job_id), json.dumps(dict(secrets)), 0o600)

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
        """Remove secret files that a crash left behind.

        Secrets received by this process are kept. A job's secrets are written before its record,
        so ``living`` may not include the job yet.
        """
        keep = {*living, *self._given}
        being_written = f"{PREFIX}{os.getpid()}-"
        for path in self._folder.glob("*"):
            if path.stem in keep or path.name.startswith(being_written) or path.is_dir():
                continue
            path.unlink(missing_ok=True)

    def _path(self, job_id: str) -> Path:
        return self._folder / f"{job_id}.json"
