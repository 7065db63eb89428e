"""Values of settings as text and as JSON. A secret is never shown."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from danlu.messages import get_message
from danlu.settings import SCHEMES, SIZES, Secret, Settings, endpoint_of


def as_text(name: str, settings: Settings) -> str:
    value = getattr(settings, name)
    if isinstance(value, Secret):
        return value.shown
    if name in SIZES:
        return _binary(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if name == "stores":
        return places_of(settings)
    if isinstance(value, Mapping):
        return ", ".join(value)
    if isinstance(value, tuple):
        return ", ".join(value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def places_of(settings: Settings) -> str:
    """Return the store of each scheme as text: 's3, obs: https://…; ks3, cos: …'."""
    schemes: dict[str, list[str]] = {}
    for scheme in SCHEMES:
        found = endpoint_of(scheme, settings.stores)
        schemes.setdefault(found.endpoint if found else "", []).append(scheme)
    return "; ".join(
        get_message("settings.endpoint", schemes=", ".join(names), url=url)
        if url
        else get_message("settings.embedded", schemes=", ".join(names), path=settings.store)
        for url, names in schemes.items()
    )


def as_json(value: Any) -> Any:
    if isinstance(value, Secret):
        return value.shown
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, Mapping):
        return {name: as_json(item) for name, item in value.items()}
    if dataclasses.is_dataclass(value):
        return {item.name: as_json(getattr(value, item.name)) for item in dataclasses.fields(value)}
    return value


def _binary(count: int) -> str:
    """Return a size in the units of the settings file: 128M, not 134.2 MB."""
    for unit in ("", "K", "M", "G"):
        if count < 1024 or count % 1024:
            return f"{count}{unit}"
        count //= 1024
    return f"{count}T"
