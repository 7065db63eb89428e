"""A connection to a server: this machine's own server or a remote one."""

import os
import subprocess
import sys
import weakref
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from danlu import messages
from danlu.errors import Refused, Unsupported
from danlu.messages import get_message
from ti.describing import description
from ti.exceptions import InvalidArguments

if TYPE_CHECKING:
    from danlu.client import Client
    from danlu.settings import Settings

DEFAULT_BUCKET = "danlu-ti"
_STORE = "from danlu.cli.main import main; main()"


class Session:
    """A server, and the operations on it that need no estimator.

    Without arguments, the server in the settings is used. If the settings have none, this
    machine's own server is used, and started if it does not run. Creating a session does not
    connect.
    """

    def __init__(self, *, server: str = "", token: str = "") -> None:
        self._server = server
        self._token = token

    @cached_property
    def settings(self) -> "Settings":
        from danlu.settings import load

        settings = load()
        messages.use(settings.lang)
        return settings

    @property
    def elsewhere(self) -> str:
        """The URL of a remote server; empty for this machine's own server.

        This machine's own server can read local files.
        """
        return self._server or self.settings.server

    @cached_property
    def client(self) -> "Client":
        """The client of the server.

        Raises:
            DanluError: there is no server, or it rejects the client.
        """
        from danlu.client import connect

        if not self.elsewhere and "DANLU_TASK" in os.environ:
            raise Refused.from_key("ti.no_server")
        client = connect(self.settings, self.elsewhere or None, self._token or None)
        # If a reference cycle (for example an exception) holds this session, the connection is
        # closed before the objects of the cycle are freed.
        weakref.finalize(self, client.close)
        return client

    def default_bucket(self) -> str:
        """Return the bucket for outputs without an ``output_path``."""
        return DEFAULT_BUCKET

    def describe_training_job(self, job_name: str) -> dict[str, Any]:
        """Return a job in the format of the service: TrainingJobStatus, SecondaryStatus, …"""
        return description(self.client.job(job_name))

    def describe_training_jobs(
        self, filters: Sequence[Mapping[str, Any]] = (), offset: int = 0, limit: int = 20
    ) -> list[dict[str, Any]]:
        """Return the newest training jobs, newest first.

        Raises:
            Unsupported: ``filters`` is not empty; ``danlu ls`` has filters.
        """
        if filters:
            raise Unsupported.from_key("ti.no_filters")
        found = self.client.jobs(limit=500)["jobs"]
        ours = [view for view in found if view["spec"]["dialect"] == "ti"]
        return [description(view) for view in ours[offset : offset + limit]]

    def stop_training_job(self, job_name: str) -> None:
        """Request that a job stops. An ended job is unchanged."""
        self.client.stop(job_name)

    def upload_data(
        self, path: "str | os.PathLike[str]", bucket: str | None = None, key_prefix: str = "data"
    ) -> str:
        """Copy a file or the contents of a folder to a bucket, and return its URI for ``fit``.

        Raises:
            InvalidArguments: ``path`` does not exist.
            Refused: the bucket belongs to a remote server, or cannot be written.
        """
        source = Path(path).expanduser()
        if not source.exists():
            fault = get_message("ti.no_path", path=os.fspath(path))
            raise InvalidArguments([("path", fault)])
        uri = f"cos://{bucket or DEFAULT_BUCKET}/{key_prefix.strip('/')}"
        self._check_reach()
        # `danlu store` opens the store in a separate process, because clients never open stores.
        target = f"{uri}/{source.name}" if source.is_file() else f"{uri}/"
        done = subprocess.run(
            [sys.executable, "-c", _STORE, "store", "cp", str(source.absolute()), target],
            capture_output=True,
            text=True,
        )
        if done.returncode:
            why = done.stderr.strip()
            raise Refused.from_key("ti.not_copied", path=os.fspath(path), why=why)
        return uri

    def _check_reach(self) -> None:
        from danlu.settings import endpoint_of

        if self.elsewhere and endpoint_of("cos", self.settings.stores) is None:
            raise Refused.from_key("ti.no_reach", elsewhere=self.elsewhere)

    def get_monitor_data(self, *_: object, **__: object) -> NoReturn:
        raise Unsupported.from_key("ti.no_monitor")

    def search_log(self, *_: object, **__: object) -> NoReturn:
        raise Unsupported.from_key("ti.no_search")
