"""How the driver joins a cluster, and what is said when it cannot."""

import logging
import socket

import ray
from ray._raylet import GcsClient  # type: ignore[attr-defined, unused-ignore]
from ray.exceptions import AuthenticationError

from danlu.errors import Unavailable

log = logging.getLogger("danlu.ray")

_KNOCK = 5.0


def join(address: str, namespace: str) -> None:
    """Make this process a driver of the cluster whose head is at ``address``.

    Raises:
        Unavailable: with the reason as a sentence.
    """
    host = _knock(address)
    # Ray guesses by the way to the internet, and a machine may have several addresses.
    own = {"_node_ip_address": host} if _is_here(host) else {}
    try:
        ray.init(
            address=address,
            namespace=namespace,
            log_to_driver=False,
            configure_logging=False,
            **own,
        )
    except Exception as error:
        log.exception("join address=%s", address)
        text = " ".join(str(error).split())[:400]
        if "version mismatch" in text.lower():
            raise Unavailable(
                f"The Ray cluster at {address} is of another version than this server: {text}",
                hint="Install the same versions of Ray and Python on both.",
            ) from None
        raise Unavailable(
            f"The Ray cluster at {address} answers, and this machine cannot join it: {text}",
            hint="The server's machine must be one of its nodes:"
            f" ray start --address={address} --num-cpus=0",
        ) from None


def _knock(address: str) -> str:
    """Return the host of the head; Ray itself would ask for minutes and not say why."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise Unavailable(f"ray_address must be HOST:PORT of a head, got {address!r}.")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _KNOCK).close()
    except OSError as error:
        raise Unavailable(
            f"Nothing answers at {address}, where the head of the Ray cluster should be: {error}.",
            hint="Look whether it is up, and whether ray_address is right: danlu settings",
        ) from None
    try:
        GcsClient(address=address)
    except AuthenticationError:
        raise Unavailable(
            f"The Ray cluster at {address} does not accept the token.",
            hint="Set ray_token (DANLU_RAY_TOKEN) to the RAY_AUTH_TOKEN it was started with.",
        ) from None
    except Exception as error:
        text = " ".join(str(error).split())[:400]
        raise Unavailable(f"What answers at {address} is not a Ray head: {text}") from None
    return host


def _is_here(host: str) -> bool:
    """Tell whether an address is this machine's own: then its raylet is, too."""
    try:
        with socket.socket() as probe:
            probe.bind((host, 0))
    except OSError:
        return False
    return True
