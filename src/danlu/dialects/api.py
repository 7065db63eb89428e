"""How a service asks for a job."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from danlu.job.plan import Command, Place, Role
from danlu.job.spec import JobSpec


class Dialect(Protocol):
    """One service's vocabulary, as three pure functions. A module can be a dialect.

    Some options of a spec are settled by the service, which can look at the code: ``"urls":
    "auto"`` becomes the channels the script wants as URLs, ``"top": "auto"`` the one folder all
    files of an archive lie in, or nothing. So is the version of TensorFlow, unless the module has
    ``TENSORFLOW``, that of a service which had one kind only.
    """

    NAME: str
    ENTRY: str  # the field that says what to start: a file of the code, or a dotted module

    def read(self, request: Mapping[str, Any]) -> JobSpec:
        """Understand a request.

        Raises:
            InvalidJob: with every fault of the request at once.
        """

    def roles(self, spec: JobSpec) -> Sequence[Role]:
        """Return the tasks the job consists of."""

    def command(self, spec: JobSpec, place: Place) -> Command:
        """Return how one task runs at its place."""
