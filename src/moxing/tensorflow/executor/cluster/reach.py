"""Waits for other processes of a cluster, and says for whom."""

import contextlib
import socket
import time
from collections.abc import Callable, Iterator, Sequence

import tensorflow.compat.v1 as tf

from moxing.tensorflow.executor.cluster.hosts import Peer

_POLL = 0.2
_FIRST_WORD = 10.0  # processes of one job start within seconds of each other
_NEXT_WORD = 60.0


def answers(peer: Peer) -> bool:
    """Tell whether somebody listens there."""
    try:
        with socket.create_connection((peer.host, peer.port), timeout=2):
            return True
    except OSError:
        return False


def unresolved(peer: Peer) -> bool:
    try:
        socket.getaddrinfo(peer.host, peer.port)
    except OSError:
        return True
    return False


class Wait:
    """One wait: says after a while, and then every minute, what it is for; ends by itself."""

    def __init__(
        self,
        seconds: float = 0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        self._began = clock()
        self._seconds = seconds
        self._word = _FIRST_WORD

    def more(self, what: str) -> None:
        """Sleep a little, unless the time is over.

        Raises:
            TimeoutError: ``--session_timeout`` is over.
        """
        waited = self._clock() - self._began
        if self._seconds and waited >= self._seconds:
            raise TimeoutError(
                f"Waited {self._seconds:g} s (--session_timeout) in vain for {what}."
            )
        if waited >= self._word:
            self._word = waited + _NEXT_WORD
            tf.logging.warning("Waiting for %s, for %.0f s now.", what, waited)
        self.pause()

    def pause(self) -> None:
        self._sleep(_POLL)


def wait_for(peers: Sequence[Peer], wait: Wait) -> None:
    """Return when every one of them listens."""
    for peer in peers:
        if unresolved(peer):
            # Told at once: it may be misspelt. Not the end: names may come with their machines.
            tf.logging.warning("There is no machine named %r (%s) yet.", peer.host, peer)
    missing = [peer for peer in peers if not answers(peer)]
    while missing:
        wait.more(", ".join(map(str, missing)))
        missing = [peer for peer in missing if not answers(peer)]


@contextlib.contextmanager
def listening(own: Peer) -> Iterator[None]:
    """Be seen by the others before the server is there: ``--sync_before_server``."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as door:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        door.bind(("", own.port))
        door.listen(128)
        yield
