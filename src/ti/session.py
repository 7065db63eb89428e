"""A connection to the platform: this machine's own server, or one elsewhere."""

import os
import subprocess
import sys
import weakref
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from danlu import words
from danlu.errors import Refused, Unsupported
from ti.describing import description
from ti.exceptions import InvalidArguments

if TYPE_CHECKING:
    from danlu.client import Client
    from danlu.settings import Settings

DEFAULT_BUCKET = "danlu-ti"
_STORE = "from danlu.cli.main import main; main()"


class Session:
    """One server, and what can be asked of it beside an estimator.

    Without arguments it is the server that the settings name, and where they name none this
    machine's own, which is started when it is not there. Making a session connects to nothing.
    """

    def __init__(self, *, server: str = "", token: str = "") -> None:
        self._server = server
        self._token = token

    @cached_property
    def settings(self) -> "Settings":
        from danlu.settings import load

        settings = load()
        words.use(settings.lang or words.of_locale(os.environ))
        return settings

    @property
    def elsewhere(self) -> str:
        """The URL of the server, empty for this machine's own, which sees this machine's files."""
        return self._server or self.settings.server

    @cached_property
    def client(self) -> "Client":
        """The platform's operations.

        Raises:
            DanluError: there is no server, or it does not want us.
        """
        from danlu.client import connect

        if not self.elsewhere and "DANLU_TASK" in os.environ:
            raise Refused(
                "This program runs as a job itself, where there is no server.",
                hint="Run it with: danlu python launch.py, or name one: Session(server=…, token=…)",
            )
        client = connect(self.settings, self.elsewhere or None, self._token or None)
        # Whatever keeps this session in a circle, an exception say: its connection is closed first.
        weakref.finalize(self, client.close)
        return client

    def default_bucket(self) -> str:
        """Return the bucket outputs go to where no ``output_path`` is given."""
        return DEFAULT_BUCKET

    def describe_training_job(self, job_name: str) -> dict[str, Any]:
        """Return a job in the words of the service: TrainingJobStatus, SecondaryStatus, …"""
        return description(self.client.job(job_name))

    def describe_training_jobs(
        self, filters: Sequence[Mapping[str, Any]] = (), offset: int = 0, limit: int = 20
    ) -> list[dict[str, Any]]:
        """Return the newest training jobs, newest first.

        Raises:
            Unsupported: filters; ``danlu ls`` has some.
        """
        if filters:
            raise Unsupported("filters of describe_training_jobs are not there.", hint="danlu ls")
        found = self.client.jobs(limit=500)["jobs"]
        ours = [view for view in found if view["spec"]["dialect"] == "ti"]
        return [description(view) for view in ours[offset : offset + limit]]

    def stop_training_job(self, job_name: str) -> None:
        """Ask a job to end; one that has ended is left alone."""
        self.client.stop(job_name)

    def upload_data(
        self, path: "str | os.PathLike[str]", bucket: str | None = None, key_prefix: str = "data"
    ) -> str:
        """Copy a file or the contents of a folder to a bucket, and return its URI for ``fit``.

        Raises:
            InvalidArguments: there is nothing at ``path``.
            Refused: the bucket belongs to a server elsewhere, or cannot be written.
        """
        source = Path(path).expanduser()
        if not source.exists():
            fault = f"there is no file or folder {os.fspath(path)!r}."
            raise InvalidArguments([("path", fault)])
        uri = f"cos://{bucket or DEFAULT_BUCKET}/{key_prefix.strip('/')}"
        self._check_reach()
        # A store is opened by the command, in a process of its own: a client never opens one.
        target = f"{uri}/{source.name}" if source.is_file() else f"{uri}/"
        done = subprocess.run(
            [sys.executable, "-c", _STORE, "store", "cp", str(source.absolute()), target],
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise Refused(f"{os.fspath(path)!r} could not be copied: {done.stderr.strip()}")
        return uri

    def _check_reach(self) -> None:
        from danlu.settings import endpoint_of

        if self.elsewhere and endpoint_of("cos", self.settings.stores) is None:
            raise Refused(
                f"The buckets of the server {self.elsewhere} cannot be reached from here.",
                hint="Give the path itself to fit(), which sends it, or set DANLU_COS_ENDPOINT.",
            )

    def get_monitor_data(self, *_: object, **__: object) -> NoReturn:
        raise Unsupported("get_monitor_data (cloud monitoring) is not there.")

    def search_log(self, *_: object, **__: object) -> NoReturn:
        raise Unsupported(
            "search_log (the log service CLS) is not there.",
            hint="Print a job's output with: TensorFlow.attach(training_job_name=NAME).logs()",
        )
