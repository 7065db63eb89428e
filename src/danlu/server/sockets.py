"""Where a server listens: a socket file only its user can reach, and TCP when asked."""

import os
import socket
import stat
from dataclasses import dataclass
from pathlib import Path

from danlu.errors import Refused

BACKLOG = 512


@dataclass(frozen=True)
class Address:
    """A place on TCP; ``host`` without brackets."""

    host: str
    port: int

    @property
    def url(self) -> str:
        """How to reach it from this machine."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str) -> Address:
    """Raises: Refused when it is not HOST:PORT."""
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdecimal() or int(port) > 65_535:
        raise Refused(f"Got {text!r} for --tcp.", hint="It takes HOST:PORT, e.g. 127.0.0.1:9420")
    return Address(host.removeprefix("[").removesuffix("]"), int(port))


def url_for_others(bound: str) -> str:
    """Return how other machines reach a bound HOST:PORT; "" where there is none."""
    if not bound:
        return ""
    address = parse_address(bound)
    if address.host in ("0.0.0.0", "::"):
        return Address(socket.gethostname(), address.port).url
    return address.url


def open_unix(path: Path) -> socket.socket:
    """Listen on a socket file of mode 0600. Whoever calls this holds the home's lock: a file
    that is already there was left by a server that is gone."""
    private_folder(path.parent)
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    before = os.umask(0o177)  # the file is never open to others, not even for a moment
    try:
        listener.bind(os.fspath(path))
    finally:
        os.umask(before)
    listener.listen(BACKLOG)
    return listener


def private_folder(folder: Path) -> None:
    """Make the folder of sockets, for its user alone.

    Raises:
        Refused: somebody else made it, and could replace what is in it.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise Refused(
            f"{folder} is not a directory of this user (owner: uid {found.st_uid}).",
            hint="Remove it, or set XDG_RUNTIME_DIR to a directory of your own.",
        )
    if stat.S_IMODE(found.st_mode) != 0o700:
        os.chmod(folder, 0o700)


def open_tcp(address: Address) -> tuple[socket.socket, Address]:
    """Listen on TCP; the address returned has the port that was given when 0 was asked for.

    Raises:
        Refused: the port is taken, or the host is not one of this machine.
    """
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((address.host, address.port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise Refused(
            f"Cannot listen on {address}: {error.strerror or error}.",
            hint="Choose another with: danlu up --port PORT",
        ) from None
    return listener, Address(address.host, listener.getsockname()[1])
