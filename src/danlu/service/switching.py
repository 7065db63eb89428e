"""Whether a server may run the jobs it finds: those of another executor are not its own."""

import os
from pathlib import Path

from danlu.errors import Conflict
from danlu.job.state import JobState
from danlu.records.api import Records
from danlu.service.tenure import known_name


def take_over(home: Path, executor: str, records: Records) -> None:
    """Note which executor runs the jobs of this home.

    Raises:
        Conflict: jobs run that another executor started. It alone can end them, and to start them
            again here would let two attempts write the same outputs.
    """
    note = home / "executor"
    before = note.read_text(encoding="ascii").strip() if note.exists() else "local"
    if before == executor:
        return
    ours = ("", known_name(home))  # other servers may share the records: theirs are their own
    living = (job for job in records.living() if job.state is not JobState.QUEUED)
    running = [job.name for job in living if job.runs_on in ours]
    if running:
        raise Conflict(
            f"executor is {executor!r}, and jobs run that {before!r} started: "
            f"{', '.join(running[:5])}.",
            hint=f"Wait for them or stop them with executor = {before!r} first"
            + ("; its head is started again by danlu up --ray." if before == "ray" else "."),
        )
    temporary = note.with_name(".executor.tmp")
    temporary.write_text(executor + "\n", encoding="ascii")
    os.replace(temporary, note)
