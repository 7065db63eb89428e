"""One job and its scripts, to try an executor with."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from danlu.executors.api import Executor
from danlu.job.job import new_id
from danlu.job.plan import Command, Limits, Place, Role, Task
from danlu.job.status import Outcome
from danlu.taskdir.process import marked

LIMITS = Limits(heartbeat=0.1, grace=2.0, mirror=1.0)
WAITS_FOR_EVER = "import time\nprint('here', flush=True)\ntime.sleep(600)\n"


def eventually(holds: Callable[[], object], *, within: float = 60.0) -> None:
    """Look until it holds; fail when it does not in time."""
    deadline = time.monotonic() + within
    while not holds():
        if time.monotonic() > deadline:
            raise AssertionError(f"did not come true within {within:g} s")
        time.sleep(0.02)


class Bench:
    """One job and a folder for its scripts, to try an executor with."""

    def __init__(self, executor: Executor, folder: Path) -> None:
        self.executor = executor
        self.folder = folder
        self.job_id = new_id()

    def task(self, script: str, *, attempt: int = 1, place: Place | None = None) -> Task:
        """Return a task that runs ``script``, at a place that is reserved when none is given."""
        place = place or self.executor.reserve(self.job_id, [Role("worker")])[0]
        path = self.folder / f"{place.task}-{attempt}.py"
        path.write_text(script, encoding="utf-8")
        command = Command(run=str(path), cwd=str(self.folder), private=())
        return Task(self.job_id, "trial", "modelarts", attempt, place, command, LIMITS)

    def start(self, *tasks: Task, secrets: Mapping[str, str] | None = None) -> None:
        self.executor.start(self.job_id, tasks, secrets or {})

    def outcome(self, task: Task) -> Outcome | None:
        return self.executor.poll(self.job_id, [task])[0].outcome

    def ended(self, task: Task) -> Outcome:
        eventually(lambda: self.outcome(task))
        outcome = self.outcome(task)
        assert outcome is not None
        return outcome

    def log(self, task: Task) -> str:
        reader = self.executor.logs(self.job_id, task.attempt, task.name)
        return reader.read(0).data.decode()

    def says(self, task: Task, text: str) -> None:
        eventually(lambda: text in self.log(task))

    def stop(self, *tasks: Task, grace: float = 1.0) -> None:
        eventually(lambda: self.executor.stop(self.job_id, tasks, grace=grace))

    def processes(self) -> list[int]:
        return list(marked(f"{self.job_id}/"))
