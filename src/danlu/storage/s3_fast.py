"""Ordinary keys through obstore, which moves bytes outside of Python.

What obstore 0.12 cannot say goes over ``s3_wire`` instead: keys with an empty or dotted part (it
drops or refuses them), listings with such keys, and everything in a process that was forked from
one which used it: its threads stay behind, and every call of the child hangs.
"""

import os
import re
import sys
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from danlu.settings import Endpoint
from danlu.storage.api import Entry
from danlu.storage.s3_faults import UNTRUSTED, Fault, Passing, fault
from danlu.storage.s3_signature import REGION
from danlu.storage.s3_wire import Timeouts, bucket_url, trusted

if TYPE_CHECKING:
    from obstore import GetOptions
    from obstore.store import ClientConfig, S3Credential

_STATUS = re.compile(r"status code: ([0-9]{3})[^:]*:(.*)", re.DOTALL)
_UNTRUSTED = re.compile(r"^\s*error: InvalidCertificate\(", re.MULTILINE)  # of rustls
_ODD = re.compile(r"(?:^|/)(?:\.{0,2})(?:/|$)|[\x00-\x1f\x7f]")
_inherited = False


def _forked() -> None:
    global _inherited
    _inherited = _inherited or "obstore" in sys.modules


os.register_at_fork(after_in_child=_forked)


def usable() -> bool:
    """Tell whether this process can use obstore: not after a fork of one that did."""
    return not _inherited


def ordinary(key: str) -> bool:
    """Tell whether obstore stores this key as it is."""
    return not _ODD.search(key)


class Fast:
    """One bucket through obstore. Every request is tried once; Fault as ``s3_wire`` raises it."""

    def __init__(self, endpoint: Endpoint, bucket: str, timeouts: Timeouts) -> None:
        from obstore.store import S3Store

        def keys() -> "S3Credential":
            return {
                "access_key_id": str(endpoint.access_key),
                "secret_access_key": str(endpoint.secret_key),
                "token": str(endpoint.token) or None,
                "expires_at": None,
            }

        options: ClientConfig = {
            "allow_http": True,
            "connect_timeout": timedelta(seconds=timeouts.connect),
            "read_timeout": timedelta(seconds=timeouts.silence),
            # Of a whole request: a slow line is not a dead one.
            "timeout": timedelta(hours=6),
        }
        if endpoint.ca_bundle:
            options["root_certificate"] = Path(trusted(endpoint)).read_bytes()
        virtual = endpoint.addressing == "virtual"
        self._store = S3Store(
            bucket,
            # Not as plain values: obstore 0.12 would join them with AWS_SESSION_TOKEN of the
            # environment, where there is one.
            credential_provider=keys if endpoint.access_key else None,
            # In the virtual style obstore wants the bucket in the endpoint.
            endpoint=bucket_url(endpoint, bucket) if virtual else endpoint.endpoint,
            region=endpoint.region or REGION,
            virtual_hosted_style_request=virtual,
            skip_signature=not endpoint.access_key,
            unsigned_payload=False,
            client_options=options,
            retry_config={"max_retries": 0},
        )

    def put(self, key: str, data: bytes) -> str:
        """Store an object and return its etag."""
        import obstore

        try:
            return _tag(obstore.put(self._store, key, data, use_multipart=False)["e_tag"])
        except Exception as error:
            raise _fault(error) from None

    def head(self, key: str) -> Entry:
        import obstore

        try:
            meta = obstore.head(self._store, key)
        except Exception as error:
            raise _fault(error) from None
        modified = int(meta["last_modified"].timestamp()) * 10**9
        return Entry(key, meta["size"], _tag(meta["e_tag"]), modified)

    def get(self, key: str, start: int, end: int | None, etag: str = "") -> tuple[bytes, int, str]:
        """Return bytes from ``start`` to ``end``, the size of the whole object, and its etag."""
        import obstore

        try:
            found = obstore.get(self._store, key, options=_options(start, end, etag))
            size, tag = found.meta["size"], _tag(found.meta["e_tag"])
            wanted = found.range[1] - found.range[0]
            data = bytes(found.bytes())
        except Exception as error:
            raise _fault(error) from None
        if len(data) != wanted:
            raise Passing(0, "cut off")
        return data, size, tag


def _options(start: int, end: int | None, etag: str) -> "GetOptions":
    options: GetOptions = {}
    if etag:
        options["if_match"] = f'"{etag}"'
    if end is not None:
        options["range"] = (start, end)
    elif start:
        options["range"] = {"offset": start}
    return options


def _tag(etag: str | None) -> str:
    return (etag or "").strip('"')


def _fault(error: Exception) -> Fault:
    """Return what obstore met with. Its own text has the whole answer in it: not passed on."""
    text = str(error).partition("\n\nDebug source:")[0]
    if match := _STATUS.search(text):
        return fault(int(match[1]), match[2])
    name = type(error).__name__
    statuses = {"PreconditionError": 412, "AlreadyExistsError": 412, "NotModifiedError": 304}
    if name in statuses:
        return Fault(statuses[name], "")
    if isinstance(error, FileNotFoundError):
        return Fault(404, "")
    if name != "GenericError":
        return Fault(0, name)
    if _UNTRUSTED.search(str(error)):
        return Fault(0, UNTRUSTED)
    return Passing(0, "cut off" if "body" in text else "no connection")
