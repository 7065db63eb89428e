"""Many small requests at once by one thread.

A thread for each request costs more than the requests: every byte that comes wakes one of them,
and Python lets only one go on. Here one thread looks which connection has something for it.
"""

import select
import socket
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from danlu.settings import Endpoint
from danlu.storage.s3_lane import Lane, Odd, Reply
from danlu.storage.s3_wire import Timeouts, trusted

if TYPE_CHECKING:
    import ssl

T = TypeVar("T")

_FAILURES = 3  # one after the other: then the rest is for the ordinary way
_LOOK = 1.0  # seconds between two looks for connections that are silent


class Lanes:
    """Connections to a service, for one thread. Nothing is tried twice, nothing raises Fault."""

    def __init__(self, endpoint: Endpoint, url: str, timeouts: Timeouts, most: int) -> None:
        self._endpoint = endpoint
        self._url = urlsplit(url)
        self._timeouts = timeouts
        self._most = most
        self._poll = select.poll()
        self._free: list[Lane] = []
        self._busy: dict[int, Lane] = {}
        self._failures = 0
        self._looked = time.monotonic()
        self._where: tuple[int, tuple[str, int]] | None = None
        self._context = _context(endpoint) if self._url.scheme == "https" else None

    def __enter__(self) -> "Lanes":
        return self

    def __exit__(self, *_: object) -> None:
        for lane in [*self._free, *self._busy.values()]:
            lane.close()
        self._free, self._busy = [], {}

    def exchange(
        self, requests: Iterable[tuple[T, tuple[bytes, ...]]]
    ) -> Iterator[tuple[T, Reply | None]]:
        """Yield each answer with what its request came with, as they come.

        None: no plain answer. A reply is good until the next one is asked for.
        """
        more = iter(requests)
        asked: dict[int, T] = {}
        while True:
            while len(self._busy) < self._most and (following := next(more, None)) is not None:
                item, request = following
                number = self._begin(request)
                if number is None:
                    yield item, None
                else:
                    asked[number] = item
            if not asked:
                return
            for number, reply in self._answers():
                yield asked.pop(number), reply
                if reply is not None:
                    self._end(number, reply)

    def _begin(self, request: tuple[bytes, ...]) -> int | None:
        """Return the number of the lane a request goes over; None: there is none."""
        if self._failures >= _FAILURES:
            return None
        try:
            lane = self._free.pop() if self._free else self._new()
            lane.begin(*request)
        except (OSError, Odd):
            self._failures += 1
            return None
        self._busy[lane.number] = lane
        self._poll.register(lane.number, lane.wants)
        return lane.number

    def _new(self) -> Lane:
        host = self._url.hostname or ""
        if self._where is None:
            port = self._url.port or (443 if self._context else 80)
            first = socket.create_connection((host, port), self._timeouts.connect)
            # Of several addresses it has found one that answers: the others go there at once.
            self._where = first.family, first.getpeername()
            return Lane(first, self._context, host)
        family, address = self._where
        further = socket.socket(family, socket.SOCK_STREAM)
        further.setblocking(False)
        further.connect_ex(address)
        return Lane(further, self._context, host)

    def _answers(self) -> Iterator[tuple[int, Reply | None]]:
        """Wait for something to happen; yield what came of it, by the number of the lane."""
        for number, _ in self._poll.poll(_LOOK * 1000):
            lane = self._busy[number]
            wanted = lane.wants
            try:
                reply = lane.go_on()
            except Odd:
                self._drop(lane)
                yield number, None
                continue
            if reply is not None:
                self._failures = 0
                yield number, reply
            elif lane.wants != wanted:
                self._poll.modify(number, lane.wants)
        yield from ((lane.number, None) for lane in self._silent())

    def _silent(self) -> list[Lane]:
        """Return the lanes that have waited too long, which are given up."""
        now = time.monotonic()
        if now - self._looked < _LOOK:
            return []
        self._looked = now
        connect, silence = self._timeouts.connect, self._timeouts.silence
        busy = self._busy.values()
        late = [one for one in busy if now - one.active > (silence if one.connected else connect)]
        for lane in late:
            self._drop(lane)
        return late

    def _end(self, number: int, reply: Reply) -> None:
        """Make the lane of an answer free for the next request."""
        lane = self._busy.pop(number)
        self._poll.unregister(number)
        if reply.headers.get("connection", "").lower() == "close":
            lane.close()
        else:
            self._free.append(lane)

    def _drop(self, lane: Lane) -> None:
        self._failures += 1
        del self._busy[lane.number]
        self._poll.unregister(lane.number)
        lane.close()


def _context(endpoint: Endpoint) -> "ssl.SSLContext":
    import ssl

    return ssl.create_default_context(cafile=trusted(endpoint) or None)
