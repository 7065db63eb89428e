"""Requests that are retried, also when their server exits and another one replaces it."""

import json
import time
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

from danlu.client.connection import Answer, NoResponse, Target, Wire
from danlu.errors import Refused, Unavailable
from danlu.messages import get_message

CALL_TIMEOUT = 60.0  # seconds a call is retried before it fails
_FIRST_TIMEOUT = 5.0  # the same, for a remote server that has never responded
_SLOWEST = 2.0  # maximum seconds between two attempts


class Tries:
    """The retry policy of one call: exponential backoff with a deadline.

    ``count`` is the number of failed attempts.
    """

    def __init__(self, timeout: float = CALL_TIMEOUT) -> None:
        self.count = 0
        self._until = time.monotonic() + timeout

    def next(self, why: str, hint: str = "") -> None:
        """Sleep until the next attempt is due.

        Raises:
            Unavailable: the deadline has passed.
        """
        if self.count and time.monotonic() >= self._until:
            raise Unavailable(why, hint=hint or get_message("client.see_status"))
        if self.count:  # The first retry is immediate: an idle connection may have been closed.
            time.sleep(min(0.05 * 2**self.count, _SLOWEST))
        self.count += 1


class Calls:
    """Requests to one server, which may be restarted as another process meanwhile.

    ``revive`` starts the server again and returns its new address. It is None for a remote
    server, which this client cannot start.
    """

    def __init__(self, target: Target, revive: Callable[[], Target] | None = None) -> None:
        self._wire = Wire(target)
        self._revive = revive
        self._answered = revive is not None

    def once(self, method: str, path: str) -> Answer:
        return self._wire.exchange(method, path)

    def post(
        self,
        path: str,
        body: Mapping[str, Any],
        token: str = "",
        timeout: float = CALL_TIMEOUT,
    ) -> Answer:
        headers = {"Content-Type": "application/json"}
        if not (token.isascii() and token.isprintable()):
            raise Refused.from_key("client.bad_token", token=token)
        if token:
            headers["Client-Token"] = token
        data = json.dumps(body).encode()
        return self.call("POST", path, body=data, headers=headers, timeout=timeout)

    def call(
        self,
        method: str,
        path: str,
        *,
        body: bytes | BinaryIO | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = CALL_TIMEOUT,
        tries: Tries | None = None,
    ) -> Answer:
        """Send a request, and repeat it until there is a response.

        The server may execute the request more than once.

        Raises:
            Unavailable: there was no response for a minute, or for 5 seconds from a remote server
                that has never responded.
            DanluError: the server returned an error response.
        """
        tries = tries or Tries(CALL_TIMEOUT if self._answered else _FIRST_TIMEOUT)
        while True:
            if body is not None and not isinstance(body, bytes):
                body.seek(0)
            try:
                answer = self._wire.exchange(
                    method, path, body=body, headers=headers, timeout=timeout
                )
                self._answered = True
                return answer
            except NoResponse as error:
                tries.next(get_message("client.no_answer", target=self._wire.target, error=error))
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
        except Unavailable as error:  # the new server was killed during its start
            tries.next(error.message, error.hint)
            return
        if target != self._wire.target:
            self._wire = Wire(target)
