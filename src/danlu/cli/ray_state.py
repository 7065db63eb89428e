"""The Ray cluster as ``danlu doctor`` sees it; Ray itself is not imported for that."""

import socket

from danlu.cli.checks import FAIL, OK, WARN, Finding, found
from danlu.errors import DanluError
from danlu.executors.choice import chosen
from danlu.executors.ray.access import check_installed, find_access
from danlu.settings import Settings
from danlu.storage.cluster import jobs_place

_KNOCK = 3.0


def check(settings: Settings) -> Finding:
    """Look whether everything is there that tasks on a cluster need."""
    if chosen(settings).executor != "ray":
        return found("ray", OK, "unused")
    try:
        check_installed()
    except DanluError:
        return found("ray", FAIL, "missing")
    try:
        jobs_place(settings)
    except DanluError as error:
        return found("ray", FAIL, "store", why=error.message, hint=error.hint)
    try:
        address = find_access(settings).address
        host, _, port = address.rpartition(":")
        socket.create_connection((host.strip("[]"), int(port)), _KNOCK).close()
    except DanluError as error:
        return found("ray", FAIL, "away", why=error.message, hint=error.hint)
    except OSError as error:
        why = f"Nothing answers at {address}: {error}"
        return found("ray", WARN, "away", why=why, hint="danlu up --ray, or see ray_address.")
    return found("ray", OK, "good", address=address)
