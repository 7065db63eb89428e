"""Ports of this machine for tasks that talk to each other: promised to one job and to no other.

A script binds its port seconds after it was chosen. Until then the port is this executor's by a
name in the kernel (an abstract unix socket), which every Danlu of the machine looks at, whoever
started it, and which is gone with the process. Nothing listens there and nothing is in a script's
way. A stranger who does not ask for names may still take the port; the agent sees that, and the
job is tried again with other ports (``Reason.PORT_TAKEN``).
"""

import os
import random
import socket
import weakref
from collections.abc import Iterable, Sequence

from danlu.errors import NoCapacity

_FIRST = 20_000
_RANGE = "/proc/sys/net/ipv4/ip_local_port_range"


class Ports:
    """The ports held by this process. Not for several threads at once."""

    def __init__(self, first: int = _FIRST) -> None:
        self._first = first
        self._names: dict[int, int] = {}  # port -> descriptor
        weakref.finalize(self, _close, self._names)

    @property
    def held(self) -> Sequence[int]:
        return sorted(self._names)

    def take(self, count: int) -> Sequence[int]:
        """Return ports nobody listens on and nobody was promised.

        They lie below those the kernel gives to outgoing connections, so that none of these can
        take one in between.

        Raises:
            NoCapacity: there are not so many.
        """
        candidates = list(range(self._first, max(_ephemeral(), self._first)))
        random.shuffle(candidates)
        found: list[int] = []
        for port in candidates:
            if len(found) == count:
                break
            if self._hold(port):
                if _is_free(port):
                    found.append(port)
                else:
                    self.drop([port])
        if len(found) < count:
            self.drop(found)
            raise NoCapacity(f"There are no {count} free ports on this machine.")
        return found

    def keep(self, ports: Iterable[int]) -> None:
        """Hold again what a process before this one held; what another has now is let go."""
        for port in ports:
            self._hold(port)

    def drop(self, ports: Iterable[int]) -> None:
        for port in ports:
            if port in self._names:
                os.close(self._names.pop(port))

    def _hold(self, port: int) -> bool:
        if port in self._names:
            return False
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as name:
            try:
                name.bind(f"\0danlu-port-{port}")
            except OSError:
                return False
            self._names[port] = name.detach()
        return True


def _close(names: dict[int, int]) -> None:
    while names:
        os.close(names.popitem()[1])


def _is_free(port: int) -> bool:
    """Tell whether a server could listen there on every address, as TensorFlow's does."""
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            probe = socket.socket(family, socket.SOCK_STREAM)
        except OSError:  # no such addresses on this machine
            continue
        with probe:
            if family == socket.AF_INET6:
                probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            try:
                probe.bind(("", port))
            except OSError:
                return False
    return True


def _ephemeral() -> int:
    try:
        with open(_RANGE, encoding="ascii") as file:
            return int(file.read().split()[0])
    except (OSError, ValueError, IndexError):
        return 32_768
