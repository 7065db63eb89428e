"""What an agent on another machine is handed beside the store: keys, secrets, how to work.

It goes from process to process, through pipes and calls, and never lies on a disk or in a store.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from danlu.job.wire import to_wire
from danlu.settings import Endpoint, Secret, Settings

# Of the server's settings, those an agent goes by. Where its scratch lies is the node's own.
_FOLLOWED = (
    *("store", "cluster_store", "store_shared", "isolation", "strict_packages"),
    *("code_limit", "code_files", "cache_limit", "lang"),
)


@dataclass(frozen=True)
class Handover:
    job_id: str
    attempt: int
    task: str
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False)
    # Files of the server's that settings name, by path: whom to trust.
    files: Mapping[str, str] = field(default_factory=dict, repr=False)

    def dump(self) -> str:
        return json.dumps(to_wire(self))


def load(text: str) -> Handover:
    return Handover(**json.loads(text))


def settings_to_hand_over(settings: Settings) -> tuple[dict[str, Any], dict[str, str]]:
    """Return what an agent follows of the server's settings, and the files they name."""
    values = {name: getattr(settings, name) for name in _FOLLOWED}
    values["store"] = os.fspath(settings.store)
    values["stores"] = to_wire(dict(settings.stores))
    named = {endpoint.ca_bundle for endpoint in settings.stores.values() if endpoint.ca_bundle}
    return values, {path: Path(path).read_text(encoding="utf-8") for path in named}


def settings_of(handed: Handover, home: Path) -> Settings:
    """Return the settings for an agent whose scratch lies in ``home``."""
    values = dict(handed.settings)
    stores = {
        scheme: _endpoint(table, handed.files, home)
        for scheme, table in values.pop("stores", {}).items()
    }
    values["store"] = Path(values["store"])
    return Settings(home=home, stores=stores, **values)


def _endpoint(table: Mapping[str, str], files: Mapping[str, str], home: Path) -> Endpoint:
    values: dict[str, Any] = dict(table)
    for name in ("access_key", "secret_key", "token"):
        values[name] = Secret(values.get(name, ""))
    endpoint = Endpoint(**values)
    if endpoint.ca_bundle not in files:
        return endpoint
    return replace(endpoint, ca_bundle=str(_kept(files[endpoint.ca_bundle], home)))


def _kept(text: str, home: Path) -> Path:
    """Write a certificate where this machine's agents find it, once for all of them."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    target = home / f"ca-{hashlib.sha256(text.encode()).hexdigest()[:16]}.pem"
    temporary = target.with_suffix(f".{os.getpid()}.tmp")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, target)
    return target
