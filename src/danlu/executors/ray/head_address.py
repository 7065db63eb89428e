"""Where a Ray head listens: an address of this machine, and ports that nobody has."""

import contextlib
import socket
from dataclasses import dataclass

from danlu.errors import Refused

LOOPBACK = "127.0.0.2"  # not 127.0.0.1: Ray makes another address of that
_DASHBOARD_HOST = "127.0.0.1"
_PORT, _DASHBOARD_PORT, _CLIENT_PORT = 6379, 8265, 10_001  # Ray's own: people know them


@dataclass(frozen=True)
class Doors:
    """Where a head listens: for nodes and drivers, for browsers, and for ``ray://``."""

    host: str
    port: int
    dashboard_port: int
    client_port: int

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def dashboard(self) -> str:
        return f"http://{_DASHBOARD_HOST}:{self.dashboard_port}"

    @property
    def options(self) -> list[str]:
        """The same in the words of ``ray start``."""
        return [
            f"--node-ip-address={self.host}",
            f"--port={self.port}",
            f"--dashboard-host={_DASHBOARD_HOST}",
            f"--dashboard-port={self.dashboard_port}",
            f"--ray-client-server-port={self.client_port}",
            "--dashboard-agent-listen-port=0",  # any
        ]


def find_doors(host: str, address: str, dashboard: str) -> Doors:
    """Return free ports: those of the head before, so that nodes, jobs and people find this one.

    Without one before they are Ray's usual ones; any others, where somebody has them. Ray itself
    would leave a second cluster of a machine without a dashboard, and let both answer ``ray://``.

    Raises:
        Refused: the host is no address of this machine.
    """
    return Doors(
        host=host,
        port=_free_port(host, _port_of(address, _PORT)),
        dashboard_port=_free_port(_DASHBOARD_HOST, _port_of(dashboard, _DASHBOARD_PORT)),
        client_port=_free_port(host, _CLIENT_PORT),
    )


def host_of(host: str) -> str:
    """Return the address of a head for what ``danlu up`` was told to listen on."""
    if host in ("localhost", "::1") or host.startswith("127."):
        return host if host.startswith("127.") and host != "127.0.0.1" else LOOPBACK
    if host not in ("0.0.0.0", "::"):
        return host
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing: only asks the kernel for the way
            return str(probe.getsockname()[0])
        except OSError:
            return LOOPBACK


def _port_of(address: str, otherwise: int) -> int:
    port = address.rpartition(":")[2]
    return int(port) if port.isdigit() else otherwise


def _free_port(host: str, wanted: int) -> int:
    for port in (wanted, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with contextlib.suppress(OSError):
                probe.bind((host, port))
                return int(probe.getsockname()[1])
    raise Refused(f"A Ray head cannot listen at {host!r}: it is no address of this machine.")
