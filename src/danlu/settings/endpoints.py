"""The S3 endpoints of bucket schemes, one per scheme, with access keys."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from danlu.errors import suggestion
from danlu.messages import get_message
from danlu.settings.values import Secret, path, shown, text

SCHEMES = ("s3", "obs", "ks3", "cos")
_URL = re.compile(r"https?://(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:]+\])(?::[0-9]{1,5})?/?")
# Both schemes belong to one service, and its scripts use both.
_TWINS = {"obs": "s3", "s3": "obs"}


@dataclass(frozen=True)
class Endpoint:
    """A service with the S3 API. Without keys, requests are not signed."""

    endpoint: str  # its URL, without a bucket
    region: str = ""
    addressing: str = "path"  # 'path': host/bucket/key, or 'virtual': bucket.host/key
    access_key: Secret = field(default=Secret(""))
    secret_key: Secret = field(default=Secret(""))
    token: Secret = field(default=Secret(""))  # session token of temporary keys
    ca_bundle: str = ""  # PEM file for a certificate of a private authority


_KEYS = tuple(item.name for item in fields(Endpoint))
_SECRETS = ("access_key", "secret_key", "token")
VARIABLES = {f"{scheme}_{key}": (scheme, key) for scheme in SCHEMES for key in _KEYS}


def endpoint_of(scheme: str, endpoints: Mapping[str, Endpoint]) -> Endpoint | None:
    """Return the endpoint of a scheme, or None for the embedded store.

    ``obs`` and ``s3`` are one service. If only one of them is set, it applies to both.
    """
    return endpoints.get(scheme) or endpoints.get(_TWINS.get(scheme, ""))


def from_variables(values: Mapping[str, str]) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """Split variables, by their lower-case names, into settings and one table per scheme.

    An empty endpoint variable counts as not set, so that a shell can clear a key.
    """
    settings: dict[str, str] = {}
    tables: dict[str, dict[str, str]] = {}
    for name, value in values.items():
        if name not in VARIABLES:
            settings[name] = value
        elif value:
            scheme, key = VARIABLES[name]
            tables.setdefault(scheme, {})[key] = value
    return settings, tables


def read(sources: Iterable[tuple[str, Any]]) -> tuple[dict[str, Endpoint], list[str]]:
    """Return the endpoints by scheme, and all errors.

    Later sources override earlier ones key by key. An address may thus be in a file and its keys in
    the environment.
    """
    faults: list[str] = []
    found: dict[str, dict[str, str]] = {}
    for origin, tables in sources:
        for scheme, key, value in _entries(tables, origin, faults):
            found.setdefault(scheme, {})[key] = value
    endpoints = {}
    for scheme, values in found.items():
        if any(fault.startswith(f"stores.{scheme}.endpoint:") for fault in faults):
            continue  # its endpoint is invalid, which is reported already
        if fault := _incomplete(values):
            faults.append(f"stores.{scheme}: {fault}")
        else:
            endpoints[scheme] = _endpoint(values)
    return endpoints, faults


def _entries(tables: Any, origin: str, faults: list[str]) -> Iterator[tuple[str, str, str]]:
    if not isinstance(tables, Mapping):
        given, expected = type(tables).__name__, _expected_tables()
        faults.append(
            get_message("settings.stores_wrong", expected=expected, given=given, origin=origin)
        )
        return
    for scheme, table in tables.items():
        if scheme not in SCHEMES:
            near = suggestion(scheme, SCHEMES)
            faults.append(
                get_message("settings.no_scheme", scheme=scheme, origin=origin, near=near)
            )
        elif isinstance(table, Endpoint):
            yield from ((scheme, key, getattr(table, key)) for key in _KEYS if getattr(table, key))
        elif not isinstance(table, Mapping):
            expected = _expected_tables()
            faults.append(
                get_message("settings.no_table", scheme=scheme, origin=origin, expected=expected)
            )
        else:
            yield from _checked(scheme, table, origin, faults)


def _checked(
    scheme: str, table: Mapping[str, Any], origin: str, faults: list[str]
) -> Iterator[tuple[str, str, str]]:
    for key, value in table.items():
        if key not in _KEYS:
            name, near = f"stores.{scheme}.{key}", suggestion(key, _KEYS)
            faults.append(get_message("settings.unknown", key=name, origin=origin, near=near))
            continue
        try:
            yield scheme, key, _value(key, value)
        except (TypeError, ValueError):
            given = Secret() if key in _SECRETS else shown(value)
            name = f"stores.{scheme}.{key}"
            expected = get_message(f"expects.{key}" if key in _OWN else "expects.text")
            texts = {"key": name, "expected": expected, "given": given, "origin": origin}
            faults.append(get_message("settings.wrong", **texts))


def _value(key: str, value: Any) -> str:
    read = text(value)
    if key == "endpoint":
        if not _URL.fullmatch(read):
            raise ValueError(read)
        return read.rstrip("/")
    if key == "ca_bundle":
        return str(path(read))
    if key == "addressing" and read not in ("path", "virtual"):
        raise ValueError(read)
    return read


def _endpoint(values: Mapping[str, str]) -> Endpoint:
    return Endpoint(
        values["endpoint"],
        values.get("region", ""),
        values.get("addressing", "path"),
        Secret(values.get("access_key", "")),
        Secret(values.get("secret_key", "")),
        Secret(values.get("token", "")),
        values.get("ca_bundle", ""),
    )


def _incomplete(values: Mapping[str, str]) -> str:
    names = ", ".join(values)
    if not values.get("endpoint"):
        return get_message("settings.no_endpoint", names=names)
    if bool(values.get("access_key")) != bool(values.get("secret_key")):
        return get_message("settings.one_key")
    return ""


def _expected_tables() -> str:
    return get_message("expects.stores", schemes=", ".join(SCHEMES), keys=", ".join(_KEYS))


_OWN = ("endpoint", "addressing", "ca_bundle")
