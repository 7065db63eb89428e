"""Lets gRPC reach the processes of a cluster without the proxy of the environment.

MoXing manual, pitfall 2-3-1: ``CreateSession still waiting`` for ever, where ``http_proxy`` is set.
The variables of the proxy stay: scripts read them, and download through it.
"""

import os
from collections.abc import Iterable

_PROXIES = ("grpc_proxy", "https_proxy", "http_proxy")
_BYPASS = "no_grpc_proxy"  # gRPC reads no_proxy only where this is not there
_HERE = ("localhost", "127.0.0.1")


def bypass(hosts: Iterable[str]) -> None:
    """Keep hosts, and this machine, from the proxy; what was kept from it stays so."""
    if not any(os.environ.get(name) for name in _PROXIES):
        return
    given = os.environ.get(_BYPASS) or os.environ.get("no_proxy") or ""
    kept = [each.strip() for each in given.split(",") if each.strip()]
    os.environ[_BYPASS] = ",".join(dict.fromkeys([*kept, *_HERE, *hosts]))
