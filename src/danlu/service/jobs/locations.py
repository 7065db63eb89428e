"""Reading of a job's code before the job runs, and tests and comparison of the places it uses."""

import contextlib
import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from danlu.errors import DanluError
from danlu.job.form import Found
from danlu.job.spec import JobSpec
from danlu.messages import get_message
from danlu.settings import Settings
from danlu.storage.archive import ArchiveLimits, check
from danlu.storage.local import FileStorage
from danlu.storage.locate import BUCKETS, Address, Location, Stores, parse, reaches_nodes
from danlu.storage.names import BucketNames
from danlu.usercode.code_snapshot import CodeSnapshot, ReadBudget, decode
from danlu.usercode.tensorflow_version import MENTION

_KEPT = 64  # archives in the cache
_PARSERS = re.compile(rb"argparse|optparse|absl|click|fire|train_url")


@dataclass(frozen=True)
class Source(CodeSnapshot):
    """The code of a job in a store.

    ``python`` holds Python files up to a total size that is read quickly. ``texts`` holds the
    same files decoded; it is empty if none mentions TensorFlow or an argument parser.
    """

    python: Mapping[str, bytes] = field(default_factory=dict)
    size: int = 0  # bytes of all files
    largest: tuple[str, int] = ("", 0)  # the name and the bytes of the largest file

    def inside(self, options: Mapping[str, str]) -> Callable[[str], str]:
        """Return a function that maps a file name to its name relative to the start directory.

        ``options`` are those of the job. ``top`` is the folder in which the job starts, and
        ``into`` is the folder into which the code is unpacked.
        """
        top, into = options.get("top", ""), options.get("into", "")
        return lambda name: (f"{into}/" if into else "") + name.removeprefix(f"{top}/")

    def has_module(self, module: str, folder: str = "") -> bool:
        """Return True if ``folder`` of the code contains the file of a dotted module name."""
        inside = f"{folder}/" if folder else ""
        return any(inside + file in self.names for file in module_files(module))


class Sources:
    """Reader of code. An archive named by its content is read once and cached."""

    def __init__(self, stores: Stores, limits: ArchiveLimits) -> None:
        self._stores = stores
        self._limits = limits
        self._known: dict[str, Source] = {}

    def of(self, uri: str) -> Source:
        """Return the code at ``uri``; its ``names`` are empty if nothing exists there.

        Raises:
            DanluError: the code cannot be read or used.
        """
        if uri in self._known:
            return self._known[uri]
        location = self._stores.at(uri)
        if not uri.endswith((".tar.gz", ".zip")):
            return self._folder(location)
        if location.storage.stat(location.key) is None:
            return Source()
        budget = ReadBudget()
        with location.storage.open(location.key) as file:
            summary = check(file, self._limits, budget.takes)
        source = Source(
            summary.names,
            _texts(summary.kept),
            python=summary.kept,
            size=summary.bytes,
            largest=summary.biggest[0] if summary.biggest else ("", 0),
        )
        if uri.startswith("danlu://code/"):
            self._known[uri] = source
            if len(self._known) > _KEPT:
                self._known.pop(next(iter(self._known)))
        return source

    def _folder(self, location: Location) -> Source:
        budget, sizes, kept = ReadBudget(), {}, {}
        for name, entry in location.tree():
            sizes[name] = entry.size
            if budget.takes(name, entry.size):
                with location.storage.open(entry.key) as file:
                    kept[name] = file.read(entry.size)
        largest = max(sizes.items(), key=lambda item: item[1], default=("", 0))
        whole = sum(sizes.values())
        return Source(frozenset(sizes), _texts(kept), python=kept, size=whole, largest=largest)


def _texts(kept: Mapping[str, bytes]) -> Mapping[str, str]:
    if not any(MENTION.search(data) or _PARSERS.search(data) for data in kept.values()):
        return {}
    return decode(kept)


def module_files(module: str) -> Iterable[str]:
    """Return the files that a dotted module name may refer to."""
    path = module.replace(".", "/")
    return f"{path}.py", f"{path}/__main__.py"


def find_unreachable(spec: JobSpec, stores: Stores, settings: Settings) -> Found:
    """Return a fault for every place of a job that only the server's disk holds.

    Applies to the Ray executor only: its nodes cannot read that disk.
    """
    if settings.executor != "ray":
        return []
    faults: Found = []
    for name, uri in {"code": spec.code, **spec.inputs, **spec.outputs}.items():
        try:
            there = not uri or reaches_nodes(stores.at(uri), settings)
        except DanluError:
            continue  # reported where the place itself is checked
        if not there:
            faults.append(
                (
                    name,
                    get_message("fault.on_server_disk", uri=uri),
                )
            )
    return faults


_ANSWER = 4.0  # seconds to wait for an answer, and to retry, when a store is tested
_ALL_ANSWERS = 10.0  # seconds for all stores of a request; a client waits for the result


def find_unanswered(places: Mapping[str, str], stores: Stores) -> dict[str, str]:
    """Return a sentence for each place, by field, in an object store that does not answer.

    One object is asked for in every bucket, in all buckets at the same time. Without this test,
    each check of a place would wait for the store again.
    """
    brief = stores.with_limit(_ANSWER)
    asked: dict[str, tuple[Location, dict[str, str]]] = {}
    for name, uri in places.items():
        with contextlib.suppress(DanluError):  # reported where the place itself is checked
            location = brief.at(uri) if uri else None
            if location is not None and location.service:
                bucket = f"{location.service}/{parse(location.uri).bucket}"
                asked.setdefault(bucket, (location, {}))[1][name] = uri
    # Threads, because the lookup of a host name has no time limit of its own.
    tests = [(_AnswerTest(location), fields) for location, fields in asked.values()]
    until = time.monotonic() + _ALL_ANSWERS
    found: dict[str, str] = {}
    for test, fields in tests:
        test.join(max(until - time.monotonic(), 0.0))
        if test.why:
            values = {"service": test.service, "why": test.why, "seconds": test.seconds}
            found |= {
                name: get_message("fault.store_silent", uri=uri, **values)
                for name, uri in fields.items()
            }
    return found


class _AnswerTest(threading.Thread):
    """A request to a bucket; ``why`` is the reason that it has no answer, "" after an answer."""

    def __init__(self, location: Location) -> None:
        super().__init__(name="store-test", daemon=True)
        self.service = location.service
        self.why = get_message("s3.no_answer")
        self._location = location
        self._began = time.monotonic()
        self._ended: float | None = None
        self.start()

    @property
    def seconds(self) -> float:
        return (self._ended or time.monotonic()) - self._began

    def run(self) -> None:
        from danlu.storage.s3.answers import Unreachable

        why = ""
        try:
            self._location.storage.stat(f"{self._location.prefix}.danlu-answer-check")
        except Unreachable as error:
            why = error.why
        except (DanluError, OSError):
            pass  # it answered; reported where the place itself is checked
        self.why, self._ended = why, time.monotonic()


class Places:
    """Comparison of many URIs; caches the lookups on disk."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores
        self._known: dict[str, Sequence[str]] = {}
        self._buckets: dict[str, str] = {}

    def overlap(self, one: str, other: str) -> bool:
        """Return True if a file below one URI may also be below the other."""
        a, b = self._parts(one), self._parts(other)
        shorter = min(len(a), len(b))
        return bool(shorter) and a[:shorter] == b[:shorter]

    def _parts(self, uri: str) -> Sequence[str]:
        if uri not in self._known:
            try:
                self._known[uri] = PurePosixPath(self._found(uri)).parts
            except DanluError:
                self._known[uri] = ()  # reported where the place itself is checked
        return self._known[uri]

    def _found(self, uri: str) -> str:
        address, canonical = parse(uri), self._stores.canonical(uri)
        if address.scheme == "file":
            return os.path.realpath(address.key)
        if address.scheme in BUCKETS and canonical.startswith("obs://"):
            # Empty and '.' segments are dropped, as in the file name of an object.
            segments = [part for part in address.key.split("/") if part not in ("", ".")]
            steps = BucketNames().split("/".join(segments)) or ()
            return os.path.realpath(os.path.join(self._folder(address), *steps))
        return canonical.replace("://", "/", 1)

    def _folder(self, address: Address) -> str:
        """Return the folder of a bucket of the embedded store, with links resolved."""
        if address.bucket not in self._buckets:
            storage = self._stores.at(f"{address.scheme}://{address.bucket}").storage
            assert isinstance(storage, FileStorage)
            self._buckets[address.bucket] = str(storage.root)
        return self._buckets[address.bucket]
