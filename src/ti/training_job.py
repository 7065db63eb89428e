"""A training job on a server, identified by its name."""

from collections.abc import Mapping
from typing import Any

from ti.describing import description, model_uri, status_of
from ti.exceptions import TrainingFailed
from ti.following import Terminal, follow, model_line, show_output
from ti.session import Session


class TrainingJob:
    """A job that was started. It keeps running without this object."""

    def __init__(self, session: Session, view: Mapping[str, Any]) -> None:
        self._session = session
        self._view = view

    @property
    def name(self) -> str:
        return str(self._view["name"])

    # The name in the SageMaker SDK.
    job_name = name

    @property
    def model_data(self) -> str:
        """The URI of ``model.tar.gz``. It exists after the job has ended and written a model."""
        return model_uri(self._view)

    @property
    def status(self) -> str:
        """The current status: InProgress, Completed, Failed, Stopping or Stopped."""
        return status_of(self._session.client.job(self._id))

    @property
    def _id(self) -> str:
        return str(self._view["id"])

    def describe(self) -> dict[str, Any]:
        """Return the current description of the job in the format of the service."""
        return description(self._session.client.job(self._id))

    def wait(self, logs: bool = True) -> None:
        """Wait until the job has ended; with ``logs`` print all its output.

        If it succeeded, the URI of its model is printed.

        Raises:
            TrainingFailed: the job failed; the exception has the traceback of the script.
        """
        client, terminal = self._session.client, Terminal()
        ended = follow(client, self._view, logs=logs, terminal=terminal)
        if ended["state"] == "succeeded":
            terminal.line(model_line(client, ended))
        if ended["state"] == "failed":
            raise TrainingFailed(ended, status_of(ended))

    def logs(self, wait: bool = True) -> None:
        """Print the output of the job; with ``wait`` follow it until the job has ended."""
        show_output(self._session.client, self._id, Terminal(), wait=wait)

    def stop(self, wait: bool = True) -> None:
        """Stop the job; with ``wait``, wait until it has ended. An ended job is unchanged."""
        self._session.client.stop(self._id)
        if wait:
            self._session.client.wait(self._id)

    def __repr__(self) -> str:
        return f"TrainingJob({self.name!r})"
