"""``mox.file.set_auth``: the endpoint and keys that a script sets override the settings."""

from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import urlsplit

from danlu.settings import Endpoint, Secret, endpoint_of, load
from danlu.storage import paths
from danlu.storage.locate import Stores
from moxing.framework.file.where import log

_SCHEMES = ("obs", "s3")  # the schemes of MoXing; ks3 and cos keep their settings
# Options of MoXing's own OBS client, which is not used here. Requests are retried for minutes.
_OF_THE_CLIENT = {
    *("ssl_verify", "long_conn_mode", "retry", "retry_wait", "client_timeout", "list_max_keys"),
    *("timeout_config", "obs_client_log", "negotiation"),
}

_chosen: dict[str, Endpoint] = {}


def set_auth(
    ak: str | None = None,
    sk: str | None = None,
    server: str | None = None,
    port: int | None = None,
    is_secure: bool | None = None,
    ssl_verify: bool | None = None,
    long_conn_mode: bool | None = None,
    path_style: bool | None = None,
    retry: int | None = None,
    retry_wait: float | None = None,
    client_timeout: float | None = None,
    list_max_keys: int | None = None,
    **others: object,
) -> None:
    """Use these keys, and this server, for obs:// and s3:// in this process; None keeps all.

    Without ``server``, and without an endpoint in the settings, objects are in the embedded
    store, which asks for no keys.
    """
    client: dict[str, object] = {
        "ssl_verify": ssl_verify,
        "long_conn_mode": long_conn_mode,
        "retry": retry,
    }
    client |= {"retry_wait": retry_wait, "client_timeout": client_timeout}
    _log_ignored({**client, "list_max_keys": list_max_keys, **others})
    settings = load()
    current = _chosen.get("obs") or endpoint_of("obs", settings.stores)
    if server is None and current is None:
        if ak or sk:
            log.info("mox.file.set_auth: the store of this machine needs no keys.")
        return
    endpoint = current or Endpoint(endpoint="")
    if server is not None:
        endpoint = replace(endpoint, endpoint=_url(server, port, is_secure))
    if path_style is not None:
        endpoint = replace(endpoint, addressing="path" if path_style else "virtual")
    if ak is not None or sk is not None:
        endpoint = _with_keys(endpoint, ak, sk)
    _chosen.update(dict.fromkeys(_SCHEMES, endpoint))
    paths.use(paths.guarded(Stores(settings.store, {**settings.stores, **_chosen})))


def _with_keys(endpoint: Endpoint, ak: str | None, sk: str | None) -> Endpoint:
    """Return ``endpoint`` with new keys; a key that is None keeps its current value."""
    access = endpoint.access_key if ak is None else Secret(ak)
    secret = endpoint.secret_key if sk is None else Secret(sk)
    if bool(access) != bool(secret):
        raise ValueError("mox.file.set_auth has one of ak and sk: give both.")
    return replace(endpoint, access_key=access, secret_key=secret, token=Secret(""))


def _url(server: str, port: int | None, is_secure: bool | None) -> str:
    scheme, found, host = server.rpartition("://")
    if not found:
        scheme = "http" if is_secure is False else "https"
    address = f"{scheme}://{host.rstrip('/')}"
    address = address if port is None else f"{address}:{port}"
    try:
        named = urlsplit(address).port is not None or ":" not in host.rpartition("]")[2]
    except ValueError:
        named = False
    if not named or not host.strip("/"):
        raise ValueError(
            f"mox.file.set_auth: {address!r} is no address. "
            "Write server='obs.example.com', and port=443 if need be."
        )
    return address


def _log_ignored(client: Mapping[str, object]) -> None:
    given = {name for name, value in client.items() if value is not None}
    unknown = sorted(given - _OF_THE_CLIENT)
    if unknown:
        log.warning("mox.file.set_auth does not know %s: passed over.", ", ".join(unknown))
    if client.get("ssl_verify") is False:
        log.warning("mox.file.set_auth: ssl_verify=False is passed over: certificates are checked.")
