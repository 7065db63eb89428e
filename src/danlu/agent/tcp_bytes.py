"""What went through the TCP connections of this machine, as the kernel counts it.

``/proc/<pid>/io`` does not count ``recv`` and ``send``: a process that waits for a slow store would
look as if it did nothing. The kernel tells of each socket by netlink (``man 7 sock_diag``).
"""

import contextlib
import logging
import socket
import struct
from collections.abc import Iterator

log = logging.getLogger(__name__)

_NETLINK_SOCK_DIAG = 4
_BY_FAMILY = 20  # SOCK_DIAG_BY_FAMILY
_REQUEST, _DUMP = 0x1, 0x300
_ERROR, _DONE = 2, 3
_INFO = 2  # INET_DIAG_INFO: a struct tcp_info
_NOT_LISTENING = 0xFFF & ~(1 << 10)
_HEADER = struct.Struct("=IHHII")  # length, type, flags, sequence, port
_ATTRIBUTE = struct.Struct("=HH")
_INODE, _ATTRIBUTES = 68, 72  # in struct inet_diag_msg
_COUNTS, _COUNTS_AT = struct.Struct("=QQ"), 120  # tcpi_bytes_acked and tcpi_bytes_received
_TIMEOUT = 2.0


def bytes_by_inode() -> dict[int, int]:
    """Return bytes sent and received by each connection, by the inode of its socket.

    Empty where the kernel does not tell.
    """
    found: dict[int, int] = {}
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            with contextlib.closing(_ask(family)) as link:
                found.update(_answers(link))
        except OSError as error:
            log.debug("connections unknown family=%s error=%s", family, error)
    return found


def _ask(family: int) -> socket.socket:
    link = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG)
    link.settimeout(_TIMEOUT)
    wanted = struct.pack("=BBBxI", family, socket.IPPROTO_TCP, 1 << (_INFO - 1), _NOT_LISTENING)
    wanted += bytes(48)  # any address
    length = _HEADER.size + len(wanted)
    link.send(_HEADER.pack(length, _BY_FAMILY, _REQUEST | _DUMP, 1, 0) + wanted)
    return link


def _answers(link: socket.socket) -> Iterator[tuple[int, int]]:
    while True:
        data = link.recv(1 << 16)
        while len(data) >= _HEADER.size:
            length, kind, *_ = _HEADER.unpack_from(data)
            if kind in (_DONE, _ERROR) or length < _HEADER.size:
                return
            yield from _counted(data[_HEADER.size : length])
            data = data[_aligned(length) :]


def _counted(message: bytes) -> Iterator[tuple[int, int]]:
    (inode,) = struct.unpack_from("=I", message, _INODE)
    at = _ATTRIBUTES
    while at + _ATTRIBUTE.size <= len(message):
        length, kind = _ATTRIBUTE.unpack_from(message, at)
        if length < _ATTRIBUTE.size:
            return
        if kind == _INFO and length >= _ATTRIBUTE.size + _COUNTS_AT + _COUNTS.size:
            yield inode, sum(_COUNTS.unpack_from(message, at + _ATTRIBUTE.size + _COUNTS_AT))
        at += _aligned(length)


def _aligned(length: int) -> int:
    return (length + 3) & ~3
