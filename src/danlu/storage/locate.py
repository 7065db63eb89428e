"""Resolution of URIs to storages.

    file:///data/mnist              a folder or a file of this machine; %XX is decoded
    obs://bucket/key                a bucket at the endpoint of the scheme in the settings, or of
                                    the embedded store; there obs, s3, ks3 and cos name the same
                                    bucket, because scripts of one service mix the schemes
    danlu://code/<sha256>.tar.gz    an uploaded code archive

Keys of buckets are used unchanged. Nothing is decoded, and ``//`` is preserved.
"""

import contextlib
import fcntl
import math
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from danlu.errors import NotFound, Refused
from danlu.messages import get_message
from danlu.settings import Endpoint, Settings, endpoint_of
from danlu.storage.api import Entry, Storage
from danlu.storage.folders import walk
from danlu.storage.local import FileStorage
from danlu.storage.names import is_temporary

if TYPE_CHECKING:
    from danlu.storage.previous import (
        OtherFolders,
        PreviousKeeper,
        PreviousKeepers,
        StartRecord,
    )


_STALE = 60.0  # seconds; a writer locks its file shortly after creating it


def sweep(root: Path, older: float = _STALE) -> int:
    """Remove the unfinished files below ``root`` that no running process has locked.

    Return the number of removed files. Files younger than ``older`` seconds, or than
    60 seconds, are kept.
    """
    return sum(1 for _ in _left_over(root, older, remove=True))


def left_over(root: Path, older: float = _STALE) -> list[str]:
    """Return the paths of the files that :func:`sweep` would remove."""
    return list(_left_over(root, older, remove=False))


def _left_over(root: Path, older: float, *, remove: bool) -> Iterator[str]:
    for path, _, files in walk(root):
        for name in files:
            file = os.path.join(path, name)
            if is_temporary(name) and _is_stale(file, max(older, _STALE), remove):
                yield file


def _is_stale(path: str, older: float, remove: bool) -> bool:
    with contextlib.suppress(OSError):
        # O_NONBLOCK: a script may have created a pipe there, which may never have a writer.
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if time.time() - os.fstat(handle).st_mtime > older:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if remove:
                    os.unlink(path)
                return True
        finally:
            os.close(handle)
    return False


BUCKETS = ("obs", "s3", "ks3", "cos")
SCHEMES = ("file", *BUCKETS, "danlu")
REDIRECTED = "redirected.urls"  # folder below a scratch URI; no output has a dot in its name
_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
_BUCKET = re.compile(r"[a-z0-9](?:[a-z0-9-]|\.(?!\.)){1,61}[a-z0-9]")
_CODE = re.compile(r"([0-9a-f]{64})\.tar\.gz")


@dataclass(frozen=True)
class Address:
    """The parts of a URI. For files, ``bucket`` is empty and ``key`` is an absolute path."""

    scheme: str
    bucket: str
    key: str

    def canonical(self, service: str = "") -> str:
        """Return a text that is the same for all spellings of one location.

        ``service``: the URL of the object store. It is empty for the embedded store, where all
        schemes are equivalent.
        """
        begin = service or ("obs:/" if self.scheme in BUCKETS else f"{self.scheme}:/")
        key = self.key[:-1] if self.key.endswith("/") else self.key
        return f"{begin}/{self.bucket}/{key}" if self.bucket else f"{begin}/{key}"

    @property
    def code_digest(self) -> str:
        """The SHA-256 in the name of a code archive, or "" for any other URI."""
        match = _CODE.fullmatch(self.key) if self.scheme == "danlu" else None
        return match[1] if match else ""


def parse(uri: str) -> Address:
    """Parse a URI, without checking that anything exists there.

    Raises:
        Refused: it is not a URI, or its bucket or path is invalid.
        NotFound: the scheme is unknown.
    """
    match = _URI.fullmatch(uri)
    if match is None:
        raise Refused.from_key("store.no_uri", uri=uri, hint=_form())
    scheme, rest = match[1].lower(), match[2]
    if scheme == "file":
        return Address(scheme, "", _file_path(uri, rest))
    if scheme == "danlu":
        return _code(uri, rest)
    if scheme not in BUCKETS:
        raise NotFound("scheme", scheme, known=SCHEMES)
    bucket, _, key = rest.partition("/")
    if not is_bucket(bucket):
        raise Refused.from_key("store.no_bucket_name", bucket=bucket, uri=uri)
    return Address(scheme, bucket, key)


def is_bucket(name: str) -> bool:
    """Return True if this is a valid bucket name."""
    return _BUCKET.fullmatch(name) is not None


def file_uri(path: Path) -> str:
    """Return the URI of a file or folder of this machine. Any name is possible."""
    from urllib.parse import quote  # the import takes 5 ms, which agents with buckets save

    return "file://" + quote(os.fsencode(os.path.abspath(path)))


def code_uri(sha256: str) -> str:
    return f"danlu://code/{sha256}.tar.gz"


@dataclass(frozen=True)
class Location:
    """One object, or the tree of all objects below ``key``.

    ``uri`` is the URI as the user wrote it.
    """

    storage: Storage
    key: str
    uri: str
    service: str = ""  # its URL; empty: this machine

    @property
    def canonical(self) -> str:
        """A text that is the same for all spellings of this location."""
        return parse(self.uri).canonical(self.service)

    @property
    def prefix(self) -> str:
        """The prefix of all keys of the tree."""
        return self.key if self.key == "" or self.key.endswith("/") else f"{self.key}/"

    def tree(self) -> Iterator[tuple[str, Entry]]:
        """Yield the relative path and the entry of each object of the tree, sorted by key.

        A single object is a tree of one file. The marker object of the folder itself is left out.
        """
        found = False
        for entry in self.storage.list(self.prefix):
            found = True
            if entry.key != self.prefix:
                yield entry.key[len(self.prefix) :], entry
        if not found and (single := self.single()):
            yield single.key.rpartition("/")[2], single

    def single(self) -> Entry | None:
        """Return the entry of the object with exactly this key, or None."""
        return None if self.key == "" or self.key.endswith("/") else self.storage.stat(self.key)

    def exists(self) -> bool:
        """Return True if there is an object or a folder here, or any object below."""
        if any(True for _ in self.storage.list(self.prefix)):
            return True
        return self.storage.stat(self.prefix) is not None or self.single() is not None

    def is_empty(self) -> bool:
        """Return True if there is no file to download, or if nothing exists here."""
        return next((path for path, _ in self.tree() if not path.endswith("/")), None) is None


class Stores:
    """All storages that URIs can name.

    ``embedded`` is the directory of the embedded store, which has the buckets of schemes without
    an endpoint.
    """

    def __init__(
        self,
        embedded: Path,
        endpoints: Mapping[str, Endpoint] | None = None,
        notes: Path | None = None,
        code: str = "",
        *,
        retry_seconds: float = 900.0,
        silence: float = 60.0,
        home: Path | None = None,
    ) -> None:
        """Initialize the stores.

        ``notes``: a local folder for records of multipart uploads. See ``s3.upload``.
        ``code``: the URI of the folder of code archives. If it is empty, they are in the embedded
        store.
        ``retry_seconds``: how many seconds requests to an unavailable service are retried.
        ``silence``: how many seconds a request waits for data from a service.
        ``home``: a folder above the embedded store. If it must be created, it gets mode 0700.
        """
        self._home = home
        self._retry_seconds = retry_seconds
        self._silence = silence
        self._code = code
        self._notes = notes
        self._embedded = embedded
        self._endpoints = endpoints or {}
        self._opened: dict[tuple[Endpoint, str], Storage] = {}
        self._limit: Callable[[], float] = lambda: math.inf
        self._keepers: dict[tuple[str, str], dict[str, PreviousKeeper]] = {}
        self._others_of: Callable[[Location], OtherFolders] | None = None
        self._others: dict[tuple[str, str], OtherFolders] = {}
        self._scratch: Location | None = None
        self._redirected: dict[tuple[str, str], Storage] = {}

    @classmethod
    def of(
        cls,
        settings: Settings,
        *,
        retry_seconds: float = 900.0,
        silence: float = 60.0,
        at_home: bool = False,
    ) -> "Stores":
        """Return the stores that the settings describe. The other arguments: see ``__init__``.

        ``at_home``: ``DANLU_HOME`` may be created for upload records. In a task there is no
        ``DANLU_HOME``, and a write to a bucket must not create one.
        """
        noted = at_home or settings.home.is_dir()
        notes = settings.home / "uploads" if noted else None
        shared = settings.cluster_store.rstrip("/")
        code = f"{shared}/code" if shared else ""
        home = settings.home if settings.home in settings.store.parents else None
        limits = {"retry_seconds": retry_seconds, "silence": silence}
        return cls(settings.store, settings.stores, notes, code, home=home, **limits)

    def with_limit(self, seconds: float) -> "Stores":
        """Return stores with the same endpoints that wait and retry for ``seconds`` only."""
        parts = (self._embedded, self._endpoints, self._notes, self._code)
        return Stores(*parts, home=self._home, retry_seconds=seconds, silence=seconds)

    def at(self, uri: str) -> Location:
        """Return the location of a URI. Nothing need exist there. Raises as :func:`parse`."""
        address = parse(uri)
        if self._scratch is not None and address.scheme in BUCKETS:
            return self._with_scratch(self._at(address, uri), self._scratch)
        return self._at(address, uri)

    def _at(self, address: Address, uri: str) -> Location:
        if address.scheme == "file":
            return self._file(address.key, uri)
        if address.scheme == "danlu" and self._code:
            folder = self.at(self._code)
            return Location(folder.storage, folder.prefix + address.key, uri, folder.service)
        if endpoint := endpoint_of(address.scheme, self._endpoints):
            bucket = self._bucket(endpoint, address.scheme, address.bucket)
            return Location(bucket, address.key, uri, endpoint.endpoint)
        embedded = "code" if address.scheme == "danlu" else f"buckets/{address.bucket}"
        root = self._embedded / embedded
        whole = f"{address.scheme}://{address.bucket}/" if address.bucket else ""

        def bare() -> Location:
            return Location(FileStorage(root, plain=False, home=self._home), "", whole)

        guard = self._guard("", os.path.realpath(root), bare if whole else None)
        storage = FileStorage(root, plain=False, home=self._home, guard=guard)
        return Location(storage, address.key, uri)

    def keep(
        self,
        job_id: str,
        outputs: "Mapping[str, StartRecord | None]",
        *,
        since: float | None = None,
        on_kept: Callable[[str], None] = lambda uri: None,
    ) -> None:
        """Copy objects of earlier jobs at these URIs before they are replaced or removed.

        See ``danlu.storage.previous``. If the start record of a URI is None, it is read or created
        when it is needed. With ``since``, objects anywhere else in buckets are copied too if they
        are older; ``since`` and ``on_kept`` are those of ``OtherFolders``.
        """
        from danlu.storage.previous import OtherFolders, PreviousKeeper

        self._keepers, self._opened = {}, {}  # storages opened so far have no guard
        self._others, self._others_of = {}, None
        for uri, location in [(uri, self.at(uri)) for uri in outputs]:
            keeper = PreviousKeeper(location, job_id)
            start = outputs[uri]
            if start is not None:
                keeper.use(start)
            self._keepers.setdefault(_container(location), {})[location.prefix] = keeper
        self._opened = {}
        if since is not None:
            self._others_of = lambda bucket: OtherFolders(bucket, job_id, since, on_kept)

    def redirect(self, scratch: str) -> None:
        """Change no bucket from now on: changes go to a folder below the URI ``scratch``.

        Only objects below ``scratch`` itself are changed. See ``danlu.storage.scratch``.
        """
        self._scratch = None
        self._scratch = self.at(scratch)

    def _with_scratch(self, location: Location, scratch: Location) -> Location:
        inside = f"{location.canonical}/".startswith(f"{scratch.canonical}/")
        if inside:
            return location
        from danlu.storage.scratch import ScratchStorage

        bucket = parse(location.uri).bucket
        # One folder for all schemes that name the same bucket.
        scheme = next(s for s in BUCKETS if self._service(s) == location.service)
        prefix = f"{scratch.prefix}{REDIRECTED}/{scheme}/{bucket}/"
        storage = ScratchStorage(location.storage, scratch.storage, prefix)
        # One object per bucket, because code compares storages by identity.
        known = self._redirected.setdefault((scheme, bucket), storage)
        return replace(location, storage=known)

    def _service(self, scheme: str) -> str:
        endpoint = endpoint_of(scheme, self._endpoints)
        return endpoint.endpoint if endpoint else ""

    def _guard(
        self, service: str, container: str, bucket: Callable[[], Location] | None = None
    ) -> "PreviousKeepers | None":
        """Return the guard of a bucket or folder.

        ``bucket`` returns the location of the whole bucket with a storage without a guard.
        """
        found = self._keepers.get((service, container), {})
        others = self._others.get((service, container))
        if others is None and bucket is not None and self._others_of is not None:
            others = self._others.setdefault((service, container), self._others_of(bucket()))
        if not found and others is None:
            return None
        from danlu.storage.previous import PreviousKeepers

        return PreviousKeepers(tuple(found.values()), others)

    def _file(self, path: str, uri: str) -> Location:
        folder, name = path, ""
        if os.path.exists(path) and not os.path.isdir(path):
            folder, name = os.path.split(path)
        guard = self._guard("", os.path.realpath(folder))
        return Location(FileStorage(Path(folder), plain=True, guard=guard), name, uri)

    def canonical(self, uri: str) -> str:
        """Return a text that is the same for all spellings of one URI. Raises as :func:`parse`."""
        address = parse(uri)
        return address.canonical(self._service(address.scheme))

    def _bucket(self, endpoint: Endpoint, scheme: str, name: str) -> Storage:
        """Return the storage of a remote bucket. There is one per bucket to reuse connections."""
        from danlu.storage.s3.bucket import S3RetryPolicy
        from danlu.storage.s3.http import Timeouts
        from danlu.storage.s3.storage import S3Storage  # imported on use

        if known := self._opened.get((endpoint, name)):
            return known
        retry = S3RetryPolicy(self._retry_seconds, limit=lambda: self._limit())
        timeouts = Timeouts(min(Timeouts.connect, self._silence), self._silence)

        def storage(guard: "PreviousKeepers | None" = None) -> Storage:
            return S3Storage(
                endpoint,
                name,
                retry=retry,
                timeouts=timeouts,
                notes=self._notes,
                guard=guard,
            )

        def bare() -> Location:
            return Location(storage(), "", f"{scheme}://{name}/", endpoint.endpoint)

        guarded = storage(self._guard(endpoint.endpoint, name, bare))
        return self._opened.setdefault((endpoint, name), guarded)

    def limit(self, left: Callable[[], float]) -> None:
        """Limit the time of retries to unavailable services, including retries in progress.

        ``left`` is called before every retry and returns the seconds left. It may raise.
        """
        self._limit = left

    def sweep(self) -> None:
        """Remove unfinished files of killed writers from the embedded store."""
        sweep(self._embedded)


def _form() -> str:
    return get_message("store.uri_form", schemes=", ".join(BUCKETS[1:]))


def _container(location: Location) -> tuple[str, str]:
    """Return the identity of the bucket or folder of a location: service and name or path."""
    storage = location.storage
    if isinstance(storage, FileStorage):
        return "", str(storage.root)
    return location.service, parse(location.uri).bucket


def _file_path(uri: str, rest: str) -> str:
    from urllib.parse import unquote

    host, slash, path = rest.partition("/")
    text = unquote(slash + path, errors="surrogateescape")
    if host not in ("", "localhost") or not slash or "\0" in text:
        raise Refused.from_key("store.no_whole_path", uri=uri, hint=_form())
    # normpath keeps two leading slashes.
    return "/" + os.path.normpath(text).lstrip("/")


def _code(uri: str, rest: str) -> Address:
    kind, _, key = rest.partition("/")
    if kind != "code" or not _CODE.fullmatch(key):
        raise Refused.from_key("store.no_code_uri", uri=uri)
    return Address("danlu", "code", key)


_JOBS = "jobs"
CLUSTER_TIMEOUT = 5.0  # seconds; callers that wait for a task directory poll it anyway


def jobs_place(settings: Settings) -> Location:
    """Return the location of the folders of all jobs.

    Raises:
        Refused: it is not set, or it is on a disk that only this machine can access.
    """
    if not settings.cluster_store and not settings.store_shared:
        raise Refused.from_key("store.no_cluster_store")
    if not settings.cluster_store:
        folder = settings.store / "cluster"
        return Location(FileStorage(folder, plain=False), _JOBS, file_uri(folder / _JOBS))
    root = settings.cluster_store.rstrip("/")
    place = Stores.of(settings, retry_seconds=CLUSTER_TIMEOUT).at(f"{root}/{_JOBS}")
    if not reaches_nodes(place, settings):
        raise Refused.from_key("store.cluster_store_local", cluster_store=settings.cluster_store)
    return place


def reaches_nodes(place: Location, settings: Settings) -> bool:
    """Return True if every node of a cluster can read and write there."""
    return bool(place.service) or settings.store_shared
