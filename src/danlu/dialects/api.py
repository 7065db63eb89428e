"""The interface of a dialect, which translates the job requests of one service."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from danlu.job.plan import Command, Place, Role
from danlu.job.spec import JobSpec


class Dialect(Protocol):
    """The request format of one service, as three pure functions. A module can be a dialect.

    Danlu's service resolves some options of a spec from the code. ``"urls": "auto"`` becomes the
    channels to pass as URLs. ``"top": "auto"`` becomes the only top-level folder of an archive, or
    "". The TensorFlow version is resolved too, unless the module defines ``TENSORFLOW`` because
    the service had only one version.
    """

    NAME: str
    ENTRY: str  # the field that names the entry: a file of the code, or a dotted module

    def read(self, request: Mapping[str, Any]) -> JobSpec:
        """Parse a request.

        Raises:
            InvalidJob: the request is invalid; lists every fault.
        """

    def roles(self, spec: JobSpec) -> Sequence[Role]:
        """Return the roles of the job's tasks."""

    def command(self, spec: JobSpec, place: Place) -> Command:
        """Return the command of one task, given its allocation."""
