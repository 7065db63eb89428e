"""Algorithms or data sets of a server, by name and version."""

from collections.abc import Mapping
from typing import Any

from danlu.client.calls import Calls, Tries
from danlu.errors import NotFound
from danlu.job.definition import parse

View = dict[str, Any]


class Definitions:
    """``kind``: 'algorithms' or 'datasets'. A reference is NAME or NAME:VERSION."""

    def __init__(self, calls: Calls, kind: str) -> None:
        self._calls = calls
        self._kind = kind

    def create(self, name: str, definition: Mapping[str, Any]) -> View:
        """Define the next version; a repeat of the newest returns that one.

        Raises:
            InvalidJob: every fault of it.
        """
        body = {"name": name, "definition": dict(definition)}
        return self._calls.post(f"/v1/{self._kind}", body).json()

    def list(self) -> list[View]:
        """Return the newest version of each, by name."""
        found: list[View] = self._calls.call("GET", f"/v1/{self._kind}").json()[self._kind]
        return found

    def get(self, reference: str) -> View:
        """Return one version, the newest unless told, with all ``versions`` there are."""
        return self._calls.call("GET", self._path(reference)).json()

    def remove(self, reference: str) -> None:
        """Forget one version, or all of a name. Jobs made from it keep their copy."""
        tries = Tries()
        try:
            self._calls.call("DELETE", self._path(reference), tries=tries)
        except NotFound:
            if not tries.count:
                raise
            # The first try did it, and its answer was lost with its server.

    def _path(self, reference: str) -> str:
        wanted = parse(reference)
        version = f"?version={wanted.version}" if wanted.version else ""
        return f"/v1/{self._kind}/{wanted.name}{version}"
