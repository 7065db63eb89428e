"""Names of jobs for a shell that completes: fast, silent, and starting nothing."""

from danlu.cli.server_state import state
from danlu.cli.session import Session
from danlu.errors import DanluError

_NEWEST = 200


def job_names(session: Session) -> list[str]:
    """Return the names of the newest jobs: from the server that runs, or from what lies on disk."""
    try:
        if state(session)["running"]:
            found = session.client.jobs(limit=_NEWEST)["jobs"]
            return [str(job["name"]) for job in found]
        return _on_disk(session)
    except (DanluError, OSError):
        return []


def _on_disk(session: Session) -> list[str]:
    """The server has left: every job that ever started has a plan with its name."""
    from danlu.taskdir.files import TaskDir, tasks_of
    from danlu.taskdir.local import FileCarrier

    folders = sorted(session.settings.jobs.glob("*"), reverse=True)
    names = []
    for folder in folders[:_NEWEST]:
        carrier = FileCarrier(folder)
        for task in tasks_of(carrier, 1)[:1]:
            if plan := TaskDir(carrier, 1, task).plan():
                names.append(plan.job_name)
    return names
