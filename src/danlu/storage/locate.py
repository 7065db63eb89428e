"""From a URI to the storage behind it.

    file:///data/mnist              a folder or a file of this machine; %XX is decoded
    obs://bucket/key                a bucket at the endpoint that the settings give its scheme, or
                                    of the embedded store: there obs, s3, ks3 and cos mean the
                                    same bucket, because scripts of one service mix the schemes
    danlu://code/<sha256>.tar.gz    a code archive the platform was given

Keys are taken as they are: nothing is decoded and no ``//`` is lost.
"""

import math
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from danlu.errors import NotFound, Refused
from danlu.settings import Endpoint, Settings, endpoint_of
from danlu.storage.api import Entry, Storage
from danlu.storage.local import FileStorage
from danlu.storage.sweep import sweep

BUCKETS = ("obs", "s3", "ks3", "cos")
SCHEMES = ("file", *BUCKETS, "danlu")
_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
_BUCKET = re.compile(r"[a-z0-9](?:[a-z0-9-]|\.(?!\.)){1,61}[a-z0-9]")
_CODE = re.compile(r"([0-9a-f]{64})\.tar\.gz")


@dataclass(frozen=True)
class Address:
    """The parts of a URI. ``bucket`` is empty for files, whose ``key`` is an absolute path."""

    scheme: str
    bucket: str
    key: str

    def canonical(self, service: str = "") -> str:
        """Return the same text for all spellings of one place.

        ``service``: the URL where its buckets are; empty: here, where all schemes mean the same.
        """
        begin = service or ("obs:/" if self.scheme in BUCKETS else f"{self.scheme}:/")
        key = self.key[:-1] if self.key.endswith("/") else self.key
        return f"{begin}/{self.bucket}/{key}" if self.bucket else f"{begin}/{key}"

    @property
    def code_digest(self) -> str:
        """The SHA-256 a code archive is named by; empty for everything else."""
        match = _CODE.fullmatch(self.key) if self.scheme == "danlu" else None
        return match[1] if match else ""


def parse(uri: str) -> Address:
    """Take a URI apart, without looking whether anything is there.

    Raises:
        Refused: it is not a URI, or its bucket or path cannot be.
        NotFound: a scheme we do not know.
    """
    match = _URI.fullmatch(uri)
    if match is None:
        raise Refused(f"{uri!r} is not a URI.", hint=_FORM)
    scheme, rest = match[1].lower(), match[2]
    if scheme == "file":
        return Address(scheme, "", _file_path(uri, rest))
    if scheme == "danlu":
        return _code(uri, rest)
    if scheme not in BUCKETS:
        raise NotFound("scheme", scheme, known=SCHEMES)
    bucket, _, key = rest.partition("/")
    if not is_bucket(bucket):
        raise Refused(
            f"{bucket!r} in {uri!r} cannot be the name of a bucket.",
            hint="It has 3 to 63 characters of a-z, 0-9, '-' and single '.', "
            "and begins and ends with a letter or digit.",
        )
    return Address(scheme, bucket, key)


def is_bucket(name: str) -> bool:
    """Tell whether a URI can name this bucket."""
    return _BUCKET.fullmatch(name) is not None


def file_uri(path: Path) -> str:
    """Return the URI of a file or folder of this machine, whatever is in its name."""
    from urllib.parse import quote  # 5 ms that agents of buckets save

    return "file://" + quote(os.fsencode(os.path.abspath(path)))


def code_uri(sha256: str) -> str:
    return f"danlu://code/{sha256}.tar.gz"


@dataclass(frozen=True)
class Location:
    """One object, or the tree of all objects below ``key``; ``uri`` is how the user wrote it."""

    storage: Storage
    key: str
    uri: str
    service: str = ""  # its URL; empty: this machine

    @property
    def canonical(self) -> str:
        """The same text for all spellings of this place."""
        return parse(self.uri).canonical(self.service)

    @property
    def prefix(self) -> str:
        """What the keys of the tree begin with."""
        return self.key if self.key == "" or self.key.endswith("/") else f"{self.key}/"

    def tree(self) -> Iterator[tuple[str, Entry]]:
        """Yield the path of each object below, relative to here, and its entry; in order of key.

        A single object is a tree of one file. The mark of the folder itself is left out.
        """
        found = False
        for entry in self.storage.list(self.prefix):
            found = True
            if entry.key != self.prefix:
                yield entry.key[len(self.prefix) :], entry
        if not found and (single := self.single()):
            yield single.key.rpartition("/")[2], single

    def single(self) -> Entry | None:
        """Return the entry of the object exactly here, or None."""
        return None if self.key == "" or self.key.endswith("/") else self.storage.stat(self.key)

    def exists(self) -> bool:
        """Tell whether there is an object, a folder, or anything below."""
        if any(True for _ in self.storage.list(self.prefix)):
            return True
        return self.storage.stat(self.prefix) is not None or self.single() is not None

    def is_empty(self) -> bool:
        """Tell whether there is no file to fetch, be it that nothing is here at all."""
        return next((path for path, _ in self.tree() if not path.endswith("/")), None) is None


class Stores:
    """All storages there are; ``embedded`` holds the buckets of schemes without an endpoint."""

    def __init__(
        self,
        embedded: Path,
        endpoints: Mapping[str, Endpoint] | None = None,
        notes: Path | None = None,
        code: str = "",
        *,
        patience: float = 900.0,
        home: Path | None = None,
    ) -> None:
        """``notes``: a folder of this machine to note uploads in; see ``s3_notes``.

        ``code``: the URI below which code archives lie; empty: in the embedded store.
        ``patience``: seconds for which a service that does not answer is asked again.
        ``home``: a folder above the embedded store; who makes it keeps others out.
        """
        self._home = home
        self._patience = patience
        self._code = code
        self._notes = notes
        self._embedded = embedded
        self._endpoints = endpoints or {}
        self._opened: dict[tuple[Endpoint, str], Storage] = {}
        self._limit: Callable[[], float] = lambda: math.inf

    @classmethod
    def of(cls, settings: Settings, *, patience: float = 900.0, at_home: bool = False) -> "Stores":
        """``at_home``: a home may be made to note uploads in.

        A task has no home of ours, and gets none by writing to a bucket.
        """
        noted = at_home or settings.home.is_dir()
        notes = settings.home / "uploads" if noted else None
        shared = settings.cluster_store.rstrip("/")
        code = f"{shared}/code" if shared else ""
        home = settings.home if settings.home in settings.store.parents else None
        return cls(settings.store, settings.stores, notes, code, patience=patience, home=home)

    def at(self, uri: str) -> Location:
        """Return the place a URI names; nothing need be there yet. Raises as :func:`parse` does."""
        address = parse(uri)
        if address.scheme == "file":
            return _file(address.key, uri)
        if address.scheme == "danlu" and self._code:
            folder = self.at(self._code)
            return Location(folder.storage, folder.prefix + address.key, uri, folder.service)
        if endpoint := endpoint_of(address.scheme, self._endpoints):
            bucket = self._bucket(endpoint, address.bucket)
            return Location(bucket, address.key, uri, endpoint.endpoint)
        embedded = "code" if address.scheme == "danlu" else f"buckets/{address.bucket}"
        storage = FileStorage(self._embedded / embedded, plain=False, home=self._home)
        return Location(storage, address.key, uri)

    def canonical(self, uri: str) -> str:
        """Return the same text for all spellings of one place. Raises as :func:`parse` does."""
        address = parse(uri)
        endpoint = endpoint_of(address.scheme, self._endpoints)
        return address.canonical(endpoint.endpoint if endpoint else "")

    def _bucket(self, endpoint: Endpoint, name: str) -> Storage:
        """Return the storage of a bucket elsewhere: one each, because it keeps connections."""
        from danlu.storage.s3 import S3Storage  # and what it needs, only where it is needed
        from danlu.storage.s3_patience import Patience

        patience = Patience(self._patience, limit=lambda: self._limit())
        storage = S3Storage(endpoint, name, patience=patience, notes=self._notes)
        return self._opened.setdefault((endpoint, name), storage)

    def limit(self, left: Callable[[], float]) -> None:
        """Let waits for a service that does not answer end early; those that are going on too.

        ``left`` is asked before every further try how many seconds there are; it may raise.
        """
        self._limit = left

    def sweep(self) -> None:
        """Remove what killed writers left unfinished in the embedded store."""
        sweep(self._embedded)


_FORM = (
    "Write file:///folder for a folder of this machine, or obs://bucket/folder/ "
    f"(also: {', '.join(BUCKETS[1:])})."
)


def _file(path: str, uri: str) -> Location:
    if os.path.isdir(path) or not os.path.exists(path):
        return Location(FileStorage(Path(path), plain=True), "", uri)
    parent, name = os.path.split(path)
    return Location(FileStorage(Path(parent), plain=True), name, uri)


def _file_path(uri: str, rest: str) -> str:
    from urllib.parse import unquote

    host, slash, path = rest.partition("/")
    text = unquote(slash + path, errors="surrogateescape")
    if host not in ("", "localhost") or not slash or "\0" in text:
        raise Refused(f"{uri!r} does not name a file by its whole path.", hint=_FORM)
    # Not normpath alone: it keeps two leading slashes.
    return "/" + os.path.normpath(text).lstrip("/")


def _code(uri: str, rest: str) -> Address:
    kind, _, key = rest.partition("/")
    if kind != "code" or not _CODE.fullmatch(key):
        raise Refused(
            f"{uri!r} is not the name of a code archive.",
            hint="It is danlu://code/<64 hexadecimal digits>.tar.gz, as the upload returned it.",
        )
    return Address("danlu", "code", key)
