"""What a task is handed when it starts, wherever that is."""

from collections.abc import Mapping

from danlu.errors import ExecutorError
from danlu.job.plan import Task


def secrets_of(task: Task, secrets: Mapping[str, str]) -> dict[str, str]:
    """Return those of a job's secrets that a task needs.

    Raises:
        ExecutorError: one is not there.
    """
    missing = [name for name in task.secrets if name not in secrets]
    if missing:
        raise ExecutorError(
            f"Task {task.name} of job {task.job_id} needs the secrets {', '.join(missing)},"
            " which are not there.",
            hint="Submit the job again and give them.",
        )
    return {name: secrets[name] for name in task.secrets}
