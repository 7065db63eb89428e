"""What a service that speaks S3 answered when it did not do as it was asked, as sentences.

An answer may carry the key it was asked with: of its text only the code is ever taken.
"""

import re

from danlu.errors import StorageError

_CODE = re.compile(r"<Code>\s*([A-Za-z0-9.]{1,64})\s*</Code>")
_WRONG_KEY = ("SignatureDoesNotMatch", "InvalidAccessKeyId", "InvalidToken", "ExpiredToken")
_AGAIN = ("RequestTimeout", "SlowDown", "InternalError", "ServiceUnavailable", "OperationAborted")

UNTRUSTED, NO_TLS = "Untrusted", "NoTls "  # our own codes, for an answer that never came


class Untrusted(StorageError):
    """Nobody this machine trusts has signed the certificate of the service."""


class WrongKey(StorageError):
    """The service does not know the access key, or the secret key is another."""


class NoPermission(StorageError):
    """The key is good, and may not do this."""


class NoBucket(StorageError):
    """There is no such bucket."""


class Unreachable(StorageError):
    """The service did not answer for as long as we waited."""


class Fault(Exception):
    """An answer that is no success: its HTTP status and the code in its body, where it has one."""

    def __init__(self, status: int, code: str) -> None:
        super().__init__(f"{status or ''} {code}".strip())
        self.status = status
        self.code = code


class Passing(Fault):
    """One that may be gone in a moment; ``status`` is 0 where there was no answer at all."""


def fault(status: int, body: str) -> Fault:
    """Return what an answer means, by its status and the text of its body."""
    match = _CODE.search(body)
    code = match[1] if match else ""
    passing = status >= 500 and status != 501
    passing = passing or status in (408, 429) or code in _AGAIN
    return Passing(status, code) if passing else Fault(status, code)


def told(found: Fault, host: str, bucket: str, key: str) -> StorageError:
    """Return the error to raise for a fault that stays."""
    object_ = f"{key!r} in bucket {bucket!r}" if key else f"bucket {bucket!r}"
    object_ = object_ if bucket else "its list of buckets"
    if isinstance(found, Passing):
        return Unreachable(
            f"{host} did not answer for {object_}: {found}.",
            hint="Look whether the service is up and the endpoint right: danlu settings",
        )
    if found.code == UNTRUSTED:
        return Untrusted(
            f"The certificate of {host} is not one this machine trusts.",
            hint="Set ca_bundle of its scheme to the PEM file of the authority that signed it.",
        )
    if found.code.startswith(NO_TLS):
        return StorageError(
            f"No TLS connection to {host} can be made: {found.code.removeprefix(NO_TLS)}.",
            hint="Where it speaks plain HTTP, write http:// in the endpoint of its scheme.",
        )
    if found.code == "RequestTimeTooSkewed":
        return StorageError(
            f"{host} refuses the clock of this machine, which is over 15 minutes off.",
            hint="Set it, best by NTP.",
        )
    if found.code in _WRONG_KEY or found.status == 401:
        return WrongKey(
            f"{host} does not accept the key: {found.code or found.status}.",
            hint="Check access_key, secret_key and token of its scheme in the settings.",
        )
    if found.status == 403:
        return NoPermission(
            f"The key is not allowed to do this with {object_} at {host}: "
            f"{found.code or 'AccessDenied'}.",
            hint="Ask its owner for the permission, or set another key.",
        )
    if found.code == "NoSuchBucket":
        return NoBucket(
            f"There is no bucket {bucket!r} at {host}.",
            hint="Buckets are made at the service, never by a job.",
        )
    if found.status in (301, 307) or found.code == "AuthorizationHeaderMalformed":
        return StorageError(
            f"{host} has bucket {bucket!r} in another region: {found}.",
            hint="Set region and endpoint of its scheme to those of the bucket.",
        )
    return StorageError(f"{host} refused {object_}: {found}.")
