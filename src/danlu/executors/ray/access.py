"""Which Ray cluster is meant, and how one gets in."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from danlu.errors import Refused, Unavailable
from danlu.settings import Secret, Settings


@dataclass(frozen=True)
class Access:
    address: str  # HOST:PORT of the head
    token: Secret

    def environment(self, own: Mapping[str, str]) -> dict[str, str]:
        """Return the variables with which a process of ours speaks to the cluster.

        Ray reads them once, when its library is loaded. Its token is never an argument.
        """
        kept = {name: value for name, value in own.items() if not name.startswith("RAY_")}
        tuned = {name: value for name, value in own.items() if name.startswith("RAY_testing_")}
        return {**kept, **tuned, **ray_environment(self.token)}


def ray_environment(token: str) -> dict[str, str]:
    """Return what every Ray process of ours is started with."""
    auth = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token}
    return {
        **(auth if token else {"RAY_AUTH_MODE": "disabled"}),
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
        "RAY_DEDUP_LOGS": "0",
    }


def find_access(settings: Settings) -> Access:
    """Return the cluster the settings name, else the one ``danlu up --ray`` started.

    Raises:
        Unavailable: there is neither.
    """
    if settings.ray_address:
        return Access(settings.ray_address, settings.ray_token or own_token(settings))
    told = own_head(settings)
    if not told:
        raise Unavailable(
            "executor is 'ray', and there is no cluster: ray_address is empty.",
            hint="Set ray_address to HOST:PORT of a head, or start one here: danlu up --ray",
        )
    return Access(told, settings.ray_token or own_token(settings))


def check_installed() -> None:
    """Raises: Refused where Ray is not installed. Does not import it: that takes seconds."""
    if find_spec("ray") is None:
        raise Refused(
            "executor is 'ray', and Ray is not installed.",
            hint="Install it with: pip install 'danlu[ray]'",
        )


def head_file(settings: Settings) -> Path:
    return settings.home / "ray" / "head.json"


def token_file(settings: Settings) -> Path:
    return settings.home / "ray" / "token"


def own_head(settings: Settings) -> str:
    """Return the address of the head that ``danlu up --ray`` started for this home, else ""."""
    try:
        told = json.loads(head_file(settings).read_bytes())["address"]
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    return told if isinstance(told, str) else ""


def own_token(settings: Settings) -> Secret:
    try:
        return Secret(token_file(settings).read_text(encoding="ascii").strip())
    except (OSError, ValueError):
        return Secret("")
