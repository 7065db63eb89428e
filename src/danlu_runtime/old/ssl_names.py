"""Functions of ``ssl`` that Python 3.12 removed."""

import os
import socket
import ssl
from typing import Any


def wrap_socket(
    sock: socket.socket,
    keyfile: Any = None,
    certfile: Any = None,
    server_side: bool = False,
    cert_reqs: ssl.VerifyMode = ssl.CERT_NONE,
    ssl_version: int | None = None,
    ca_certs: Any = None,
    do_handshake_on_connect: bool = True,
    suppress_ragged_eofs: bool = True,
    ciphers: str | None = None,
) -> ssl.SSLSocket:
    """Encrypt a connection; certificates are checked only as ``cert_reqs`` requires, as before.

    ``ssl_version`` is ignored. The newest version that both sides support is used, because current
    services reject old versions.
    """
    if server_side and not certfile:
        raise ValueError("certfile must be specified for server-side operations")
    if keyfile and not certfile:
        raise ValueError("certfile must be specified")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server_side else ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = cert_reqs
    if ca_certs:
        context.load_verify_locations(ca_certs)
    if certfile:
        context.load_cert_chain(certfile, keyfile)
    if ciphers:
        context.set_ciphers(ciphers)
    return context.wrap_socket(
        sock,
        server_side=server_side,
        do_handshake_on_connect=do_handshake_on_connect,
        suppress_ragged_eofs=suppress_ragged_eofs,
    )


def RAND_pseudo_bytes(n: int) -> tuple[bytes, bool]:
    """Return random bytes and True, which means that they are cryptographically strong."""
    return os.urandom(n), True
