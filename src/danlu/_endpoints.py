"""Where the buckets of a scheme really lie: one endpoint each, with its keys."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from danlu._values import Secret, path, shown, text
from danlu.errors import suggestion

SCHEMES = ("s3", "obs", "ks3", "cos")
_URL = re.compile(r"https?://(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:]+\])(?::[0-9]{1,5})?/?")
# One service: scripts for it mix both schemes.
_TWINS = {"obs": "s3", "s3": "obs"}


@dataclass(frozen=True)
class Endpoint:
    """A service that speaks S3. Without keys requests are not signed."""

    endpoint: str  # its URL, without a bucket
    region: str = ""
    addressing: str = "path"  # 'path': host/bucket/key, or 'virtual': bucket.host/key
    access_key: Secret = field(default=Secret(""))
    secret_key: Secret = field(default=Secret(""))
    token: Secret = field(default=Secret(""))  # of a session, beside temporary keys
    ca_bundle: str = ""  # a PEM file of whom to trust, for one that no public authority signed


_KEYS = tuple(item.name for item in fields(Endpoint))
_SECRETS = ("access_key", "secret_key", "token")
VARIABLES = {f"{scheme}_{key}": (scheme, key) for scheme in SCHEMES for key in _KEYS}


def endpoint_of(scheme: str, endpoints: Mapping[str, Endpoint]) -> Endpoint | None:
    """Return the endpoint a scheme means; None: the embedded store.

    ``obs`` and ``s3`` are one service: where only one of them is set, it holds for both.
    """
    return endpoints.get(scheme) or endpoints.get(_TWINS.get(scheme, ""))


def from_variables(values: Mapping[str, str]) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """Part our variables, by their lower names, into settings and tables per scheme.

    An empty variable is one that is not set: so a shell takes a key back.
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
    """Return endpoints by scheme, later sources over earlier ones key by key, and every fault.

    So that an address may stand in a file and its keys in the environment.
    """
    faults: list[str] = []
    found: dict[str, dict[str, str]] = {}
    for origin, tables in sources:
        for scheme, key, value in _entries(tables, origin, faults):
            found.setdefault(scheme, {})[key] = value
    endpoints = {}
    for scheme, values in found.items():
        if any(fault.startswith(f"stores.{scheme}.endpoint:") for fault in faults):
            continue  # it has one, which cannot be
        if fault := _incomplete(values):
            faults.append(f"stores.{scheme}: {fault}")
        else:
            endpoints[scheme] = _endpoint(values)
    return endpoints, faults


def _entries(tables: Any, origin: str, faults: list[str]) -> Iterator[tuple[str, str, str]]:
    if not isinstance(tables, Mapping):
        faults.append(f"stores: got a {type(tables).__name__} ({origin}). It takes {EXPECTED}.")
        return
    for scheme, table in tables.items():
        if scheme not in SCHEMES:
            faults.append(
                f"stores.{scheme}: is not a scheme of buckets ({origin}). "
                f"{suggestion(scheme, SCHEMES)}"
            )
        elif isinstance(table, Endpoint):
            yield from ((scheme, key, getattr(table, key)) for key in _KEYS if getattr(table, key))
        elif not isinstance(table, Mapping):
            faults.append(f"stores.{scheme}: is not a table ({origin}). It takes {EXPECTED}.")
        else:
            yield from _checked(scheme, table, origin, faults)


def _checked(
    scheme: str, table: Mapping[str, Any], origin: str, faults: list[str]
) -> Iterator[tuple[str, str, str]]:
    for key, value in table.items():
        if key not in _KEYS:
            faults.append(
                f"stores.{scheme}.{key}: is not a setting ({origin}). {suggestion(key, _KEYS)}"
            )
            continue
        try:
            yield scheme, key, _value(key, value)
        except (TypeError, ValueError):
            given = Secret() if key in _SECRETS else shown(value)
            faults.append(
                f"stores.{scheme}.{key}: got {given!r} ({origin}). "
                f"It takes {_EXPECTED.get(key, 'text')}."
            )


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
    if not values.get("endpoint"):
        return (
            f"has {', '.join(values)} and no endpoint. "
            "Give its URL, or leave all out: then the embedded store is meant."
        )
    if bool(values.get("access_key")) != bool(values.get("secret_key")):
        return "has one of access_key and secret_key. Give both, or neither for a public store."
    return ""


EXPECTED = f"a table per scheme ({', '.join(SCHEMES)}) with {', '.join(_KEYS)}"
_EXPECTED = {
    "endpoint": "a URL without a path, such as https://obs.cn-north-4.myhuaweicloud.com",
    "addressing": "path or virtual",
    "ca_bundle": "the path of a PEM file",
}
