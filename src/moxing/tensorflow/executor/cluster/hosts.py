"""The host lists of a cluster: read from the flags, every fault told before anything waits."""

import errno
import re
import socket
from collections.abc import Sequence
from dataclasses import dataclass

from danlu.errors import Unsupported, suggestion

JOBS = ("ps", "worker")
_ADDRESS = re.compile(r"(?:\[(?P<six>[0-9a-fA-F:.%]+)\]|(?P<host>[^\s:/\[\],]+)):(?P<port>\d+)")


@dataclass(frozen=True)
class Peer:
    """One process of a cluster, as people speak of it: ``worker 1 at 10.0.0.2:2223``."""

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
    """Return the processes a comma list names; what is wrong with them is said by ``faults``."""
    addresses = [each.strip() for each in text.split(",")] if text.strip() else []
    return tuple(Peer(job, index, address) for index, address in enumerate(addresses))


def faults(job: str, index: int, everyone: Sequence[Peer]) -> list[str]:
    """Return what is wrong with the flags of a cluster, a sentence each."""
    if job == "controller":
        raise Unsupported(
            "--job_name=controller: training by all-reduce without parameter servers is not there.",
            hint="Start one ps and one worker on each node: --job_name=ps and --job_name=worker.",
        )
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
    """Find a task_index that is another machine's: workers wait for ever then.

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
    """Tell whether a name or address is one of this machine's."""
    try:
        found = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)
    except OSError:
        return False
    return any(_binds(family, address) for family, _, _, _, address in found)


def port_is_free(port: int) -> bool:
    """Tell whether a server may listen at a port of this machine, as TensorFlow's does."""
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
    """Return the address this machine is known by: nothing is sent to find it."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(("192.0.2.1", 9))
            return str(probe.getsockname()[0])
    except OSError:
        return socket.gethostname()
