"""Calls that outlive the server they began with: sent again until one answers."""

import json
import time
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

from danlu.client.connection import Answer, Target, Unreachable, Wire
from danlu.errors import Refused, Unavailable

PATIENCE = 60.0  # seconds a call tries again before it gives up
_FIRST_PATIENCE = 5.0  # with a server elsewhere that has never answered
_SLOWEST = 2.0  # seconds between two tries, at most


class Tries:
    """Patience with one call: pauses that grow, and an end. ``count`` is how often it failed."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self.count = 0
        self._until = time.monotonic() + patience

    def next(self, why: str, hint: str = "") -> None:
        """Return when it is time to try again.

        Raises:
            Unavailable: that was the last time.
        """
        if self.count and time.monotonic() >= self._until:
            raise Unavailable(why, hint=hint or "Look at it with: danlu status")
        if self.count:  # the first repeat is at once: a kept connection may just have been closed
            time.sleep(min(0.05 * 2**self.count, _SLOWEST))
        self.count += 1


class Calls:
    """One server, by whatever process. ``revive`` brings it back and says where it is now; a
    server elsewhere has none: it is somebody else's to start."""

    def __init__(self, target: Target, revive: Callable[[], Target] | None = None) -> None:
        self._wire = Wire(target)
        self._revive = revive
        self._answered = revive is not None

    def once(self, method: str, path: str) -> Answer:
        return self._wire.exchange(method, path)

    def post(self, path: str, body: Mapping[str, Any], token: str = "") -> Answer:
        headers = {"Content-Type": "application/json"}
        if not (token.isascii() and token.isprintable()):
            raise Refused(f"Got {token!r} for token.", hint="Letters, digits and marks of ASCII.")
        if token:
            headers["Client-Token"] = token
        return self.call("POST", path, body=json.dumps(body).encode(), headers=headers)

    def call(
        self,
        method: str,
        path: str,
        *,
        body: bytes | BinaryIO | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = PATIENCE,
        tries: Tries | None = None,
    ) -> Answer:
        """Send a request until it is answered. It may be done more than once.

        Raises:
            Unavailable: nobody answered for a minute, or ever.
            DanluError: the server's own answer, when it is an error.
        """
        tries = tries or Tries(PATIENCE if self._answered else _FIRST_PATIENCE)
        while True:
            if body is not None and not isinstance(body, bytes):
                body.seek(0)
            try:
                answer = self._wire.exchange(
                    method, path, body=body, headers=headers, timeout=timeout
                )
                self._answered = True
                return answer
            except Unreachable as error:
                tries.next(f"No answer from {self._wire.target} ({error}).")
                self._bring_back(tries)
            except Unavailable as error:
                tries.next(error.message, error.hint)

    def close(self) -> None:
        self._wire.close()

    def _bring_back(self, tries: Tries) -> None:
        if self._revive is None:
            return
        try:
            target = self._revive()
        except Unavailable as error:  # it was killed again while it started
            tries.next(error.message, error.hint)
            return
        if target != self._wire.target:
            self._wire = Wire(target)
