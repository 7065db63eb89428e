"""Data that an agent on another machine receives directly: access keys, secrets and settings.

It is passed between processes through pipes and calls. It is never written to a disk or a store.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from danlu.atomic_file import write_whole
from danlu.job.wire import to_wire
from danlu.settings import Endpoint, Secret, Settings

# Server settings that also apply to the agent. The node chooses its own scratch directory.
_FOLLOWED = (
    *("store", "cluster_store", "store_shared", "isolation", "strict_packages"),
    *("share_tmp", "shm_limit"),
    *("code_limit", "code_files", "cache_limit", "keep_limit", "lang"),
)


@dataclass(frozen=True)
class Handover:
    job_id: str
    attempt: int
    task: str
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False)
    # CA bundles of the server that the settings name: content by path.
    files: Mapping[str, str] = field(default_factory=dict, repr=False)

    def dump(self) -> str:
        return json.dumps(to_wire(self))


def load(text: str) -> Handover:
    return Handover(**json.loads(text))


def settings_to_hand_over(settings: Settings) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the server settings that apply to an agent, and the content of the CA bundles."""
    values = {name: getattr(settings, name) for name in _FOLLOWED}
    values["store"] = os.fspath(settings.store)
    values["stores"] = to_wire(dict(settings.stores))
    named = {endpoint.ca_bundle for endpoint in settings.stores.values() if endpoint.ca_bundle}
    return values, {path: Path(path).read_text(encoding="utf-8") for path in named}


def settings_of(handed: Handover, home: Path) -> Settings:
    """Return the settings for an agent that has its scratch directory in ``home``."""
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
    """Write a CA bundle to ``home`` and return its path.

    The file name is derived from the content. All agents of this machine share one file.
    """
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    target = home / f"ca-{hashlib.sha256(text.encode()).hexdigest()[:16]}.pem"
    write_whole(target, text)
    return target
