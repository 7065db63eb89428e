"""Free ports on the loopback address, for tasks that talk to each other."""

import random
import socket
from collections.abc import Collection, Sequence
from contextlib import ExitStack

from danlu.errors import NoCapacity

_FIRST = 20_000
_RANGE = "/proc/sys/net/ipv4/ip_local_port_range"


def free_ports(count: int, taken: Collection[int], *, first: int = _FIRST) -> Sequence[int]:
    """Return ports nobody listens on.

    A port is bound only later, by the script. They lie below those the kernel gives to outgoing
    connections, so that none of these can take one in between.
    """
    candidates = [port for port in range(first, max(_ephemeral(), first)) if port not in taken]
    random.shuffle(candidates)
    found: list[int] = []
    with ExitStack() as held:
        for port in candidates:
            if len(found) == count:
                break
            probe = held.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            found.append(port)
    if len(found) < count:
        raise NoCapacity(f"There are no {count} free ports on this machine.")
    return found


def _ephemeral() -> int:
    try:
        with open(_RANGE, encoding="ascii") as file:
            return int(file.read().split()[0])
    except (OSError, ValueError, IndexError):
        return 32_768
