"""How a service asks for a job."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from danlu.job.plan import Command, Place, Role
from danlu.job.spec import JobSpec


class Dialect(Protocol):
    """One service's vocabulary, as three pure functions. A module can be a dialect."""

    NAME: str

    def read(self, request: Mapping[str, Any]) -> JobSpec:
        """Understand a request.

        Raises:
            InvalidJob: with every fault of the request at once.
        """

    def roles(self, spec: JobSpec) -> Sequence[Role]:
        """Return the tasks the job consists of."""

    def command(self, spec: JobSpec, place: Place) -> Command:
        """Return how one task runs at its place."""
