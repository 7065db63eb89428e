"""The host lists of a cluster, and waiting for its processes.

The lists are read from the flags. Every fault is reported before anything waits.
"""

import contextlib
import errno
import re
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from danlu.errors import Unsupported, suggestion

JOBS = ("ps", "worker")
_ADDRESS = re.compile(r"(?:\[(?P<six>[0-9a-fA-F:.%]+)\]|(?P<host>[^\s:/\[\],]+)):(?P<port>\d+)")


@dataclass(frozen=True)
class Peer:
    """One process of a cluster, shown to users as ``worker 1 at 10.0.0.2:2223``."""

    job: str
    index: int
    address: str

    @property
    def host(self) -> str:
        found = _ADDRESS.fullmatch(self.address)
        return (found["six"] or found["host"]) if found else ""

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    def __str__(self) -> str:
        return f"{self.job} {self.index} at {self.address}"


def listed(job: str, text: str) -> tuple[Peer, ...]:
    """Return the processes in a comma-separated list; ``faults`` checks them."""
    addresses = [each.strip() for each in text.split(",")] if text.strip() else []
    return tuple(Peer(job, index, address) for index, address in enumerate(addresses))


def faults(job: str, index: int, everyone: Sequence[Peer]) -> list[str]:
    """Return the faults in the flags of a cluster, one sentence each.

    Raises:
        Unsupported: the role is ``controller``.
    """
    if job == "controller":
        raise Unsupported.from_key("moxing.no_controller")
    if job not in JOBS:
        near = suggestion(job, JOBS)
        return [f"--job_name must be ps or worker, got {job!r}. {near}".rstrip()]
    found = [
        f"--{each}_hosts must name at least one address, such as 192.168.1.100:2222, got ''."
        for each in JOBS
        if not any(peer.job == each for peer in everyone)
    ]
    found += [fault for peer in everyone if (fault := _misspelt(peer))]
    found += _twice(everyone)
    own = [peer for peer in everyone if peer.job == job]
    if own and not 0 <= index < len(own):
        found.append(
            f"--task_index must be 0 to {len(own) - 1}, for --{job}_hosts has {len(own)} "
            f"address{'es' if len(own) > 1 else ''}, got {index}."
        )
    return found or _elsewhere(own[index], own)


def _misspelt(peer: Peer) -> str:
    if not _ADDRESS.fullmatch(peer.address):
        return (
            f"--{peer.job}_hosts: address {peer.index} must be host:port, such as "
            f"192.168.1.100:2222, got {peer.address!r}."
        )
    if not 0 < peer.port < 65536:
        return f"--{peer.job}_hosts: the port of {peer.address!r} must be 1 to 65535."
    return ""


def _twice(everyone: Sequence[Peer]) -> list[str]:
    addresses = [peer.address for peer in everyone]
    again = dict.fromkeys(each for each in addresses if each and addresses.count(each) > 1)
    return [
        f"{' and '.join(str(peer) for peer in everyone if peer.address == each)} share one "
        "address: give every process a port of its own."
        for each in again
    ]


def _elsewhere(own: Peer, same_job: Sequence[Peer]) -> list[str]:
    """Report a task_index that belongs to another machine, because workers would wait forever.

    Manual, pitfall 2-3-1.
    """
    if is_here(own.host):
        return []
    begin = f"--task_index={own.index} is {own}, which is no address of this machine"
    here = [str(peer.index) for peer in same_job if is_here(peer.host)]
    if here:
        return [f"{begin}: its task_index is {' or '.join(here)}."]
    return [
        f"{begin} (it is {_outside()}): give each process the task_index of its own machine's "
        f"address in --{own.job}_hosts."
    ]


def is_here(host: str) -> bool:
    """Return True if a name or address belongs to this machine."""
    try:
        found = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)
    except OSError:
        return False
    return any(_binds(family, address) for family, _, _, _, address in found)


def port_is_free(port: int) -> bool:
    """Return True if a server can listen on a port of this machine, as TensorFlow's does."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
            probe.listen(1)
        except OSError as error:
            return error.errno != errno.EADDRINUSE
    return True


def _binds(family: int, address: tuple[object, ...]) -> bool:
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.bind(address)
    except OSError:
        return False
    return True


def _outside() -> str:
    """Return the outward address of this machine, without sending anything."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(("192.0.2.1", 9))
            return str(probe.getsockname()[0])
    except OSError:
        return socket.gethostname()


_POLL = 0.2
_FIRST_WORD = 10.0  # processes of one job start within seconds of each other
_LOG_INTERVAL = 60.0


def answers(peer: Peer) -> bool:
    """Return True if a process listens at the address of a peer."""
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
    """A polling wait that logs its subject after 10 s and then every minute.

    It ends with ``TimeoutError`` after ``seconds``; 0 means no limit.
    """

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
        self._next_log = _FIRST_WORD

    def more(self, what: str) -> None:
        """Sleep for one polling interval; ``what`` is the subject of the wait.

        Raises:
            TimeoutError: ``--session_timeout`` has passed.
        """
        waited = self._clock() - self._began
        if self._seconds and waited >= self._seconds:
            raise TimeoutError(
                f"Waited {self._seconds:g} s (--session_timeout) in vain for {what}."
            )
        if waited >= self._next_log:
            self._next_log = waited + _LOG_INTERVAL
            import tensorflow.compat.v1 as tf

            tf.logging.warning("Waiting for %s, for %.0f s now.", what, waited)
        self.pause()

    def pause(self) -> None:
        self._sleep(_POLL)


def wait_for(peers: Sequence[Peer], wait: Wait) -> None:
    """Wait until every peer listens."""
    import tensorflow.compat.v1 as tf

    for peer in peers:
        if unresolved(peer):
            # Logged at once, because the name may be misspelt. It is not an error: the name may
            # become known when its machine starts.
            tf.logging.warning("There is no machine named %r (%s) yet.", peer.host, peer)
    missing = [peer for peer in peers if not answers(peer)]
    while missing:
        wait.more(", ".join(map(str, missing)))
        missing = [peer for peer in missing if not answers(peer)]


@contextlib.contextmanager
def listening(own: Peer) -> Iterator[None]:
    """Listen on the port before the server starts, for ``--sync_before_server``."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as door:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        door.bind(("", own.port))
        door.listen(128)
        yield
