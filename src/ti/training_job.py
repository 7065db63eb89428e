"""One training job on a server, known by its name."""

from collections.abc import Mapping
from typing import Any

from ti.describing import description, model_uri, status_of
from ti.exceptions import TrainingFailed
from ti.following import follow, show_output
from ti.session import Session
from ti.terminal import Terminal


class TrainingJob:
    """A job that was started; it goes on without this object."""

    def __init__(self, session: Session, view: Mapping[str, Any]) -> None:
        self._session = session
        self._view = view

    @property
    def name(self) -> str:
        return str(self._view["name"])

    # SageMaker's word for it.
    job_name = name

    @property
    def model_data(self) -> str:
        """The URI of ``model.tar.gz``: there when the job has ended and has left a model."""
        return model_uri(self._view)

    @property
    def status(self) -> str:
        """InProgress, Completed, Failed, Stopping or Stopped: as it is now."""
        return status_of(self._session.client.job(self._id))

    @property
    def _id(self) -> str:
        return str(self._view["id"])

    def describe(self) -> dict[str, Any]:
        """Return all that is known of it now, in the words of the service."""
        return description(self._session.client.job(self._id))

    def wait(self, logs: bool = True) -> None:
        """Print what it writes from its beginning on (``logs``), until it has ended.

        Raises:
            TrainingFailed: it ended badly; the script's own traceback is in it.
        """
        ended = follow(self._session.client, self._view, logs=logs, terminal=Terminal())
        if ended["state"] == "failed":
            raise TrainingFailed(ended, status_of(ended))

    def logs(self, wait: bool = True) -> None:
        """Print what it has written, and with ``wait`` what it is still to write."""
        show_output(self._session.client, self._id, Terminal(), wait=wait)

    def stop(self, wait: bool = True) -> None:
        """Ask it to end and wait until it has; one that has ended is left alone."""
        self._session.client.stop(self._id)
        if wait:
            self._session.client.wait(self._id)

    def __repr__(self) -> str:
        return f"TrainingJob({self.name!r})"
