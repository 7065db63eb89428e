"""Finds the Ray cluster to use and its credentials; also the state names of Ray tasks."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from danlu.errors import Refused, Unavailable
from danlu.settings import Secret, Settings


@dataclass(frozen=True)
class Access:
    """The address and the token of a Ray cluster."""

    address: str  # HOST:PORT of the head
    token: Secret

    def environment(self, own: Mapping[str, str]) -> dict[str, str]:
        """Return the environment for a process that connects to the cluster.

        Ray reads it once, when its library is loaded. The token is never a command-line argument.
        """
        kept = {name: value for name, value in own.items() if not name.startswith("RAY_")}
        tuned = {name: value for name, value in own.items() if name.startswith("RAY_testing_")}
        return {**kept, **tuned, **ray_environment(self.token)}


def ray_environment(token: str) -> dict[str, str]:
    """Return the variables for every Ray process that Danlu starts."""
    auth = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token}
    return {
        **(auth if token else {"RAY_AUTH_MODE": "disabled"}),
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
        "RAY_DEDUP_LOGS": "0",
    }


def find_access(settings: Settings) -> Access:
    """Return the cluster in the settings, else the one that ``danlu up --ray`` started.

    Raises:
        Unavailable: there is neither of them.
    """
    if settings.ray_address:
        return Access(settings.ray_address, settings.ray_token or own_token(settings))
    address = own_head(settings)
    if not address:
        raise Unavailable.from_key("ray.no_address")
    return Access(address, settings.ray_token or own_token(settings))


def check_installed() -> None:
    """Raise Refused if Ray is not installed. Does not import Ray, which takes seconds."""
    if find_spec("ray") is None:
        raise Refused.from_key("ray.not_installed")


def head_file(settings: Settings) -> Path:
    return settings.home / "ray" / "head.json"


def token_file(settings: Settings) -> Path:
    return settings.home / "ray" / "token"


def own_head(settings: Settings) -> str:
    """Return the address of the head that ``danlu up --ray`` started for this home, or ""."""
    try:
        address = json.loads(head_file(settings).read_bytes())["address"]
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    return address if isinstance(address, str) else ""


def own_token(settings: Settings) -> Secret:
    try:
        return Secret(token_file(settings).read_text(encoding="ascii").strip())
    except (OSError, ValueError):
        return Secret("")


# States of a reservation.
PENDING, STARTING, READY = "pending", "starting", "ready"

# States of a task from its agent actor, and states of the actor from the driver.
RUNNING, IDLE, ENDED = "running", "idle", "ended"
GONE, UNKNOWN = "gone", "unknown"
