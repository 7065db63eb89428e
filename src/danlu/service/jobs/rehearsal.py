"""The scratch outputs of rehearsals, which are removed together with the job.

A rehearsal shows whether a job runs to its end. A model trained for a few steps must never replace
a real one, therefore a rehearsal does not write to the outputs of its request, nor to any other
URL: see ``danlu.storage.scratch``. A script may continue from a checkpoint or evaluate one,
therefore the newest checkpoint is copied to the scratch output first.
"""

import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from danlu.dialects.planning import named_in
from danlu.errors import DanluError, NotFound
from danlu.job.job import Job, first_id
from danlu.job.spec import JobSpec
from danlu.messages import get_message
from danlu.messages.text import files_text
from danlu.messages.text import size as size_text
from danlu.records.api import Records
from danlu.settings import GiB, Settings, endpoint_of
from danlu.storage.api import Entry
from danlu.storage.locate import BUCKETS, REDIRECTED, Location, Stores, file_uri

log = logging.getLogger(__name__)

BUCKET = "danlu-rehearsals"
_FOLDER = "rehearsals"
# Largest checkpoint in bytes to copy; the client waits for the submit meanwhile.
_MAX_CHECKPOINT = 1 * GiB
_LISTED = 100_000  # objects of an output that are listed
_STATE = "checkpoint"  # the file that names the newest checkpoint of its folder
_STATE_SIZE = 1 << 20
_NEWEST = re.compile(r'^model_checkpoint_path:\s*"([^"\\]+)"', re.MULTILINE)
_DAY = 86_400.0


class Start(NamedTuple):
    """The initial contents of a scratch output: objects by path, and texts of small files."""

    objects: dict[str, Entry]
    texts: dict[str, str]

    @property
    def size(self) -> int:
        return sum(entry.size for entry in self.objects.values())


class Rehearsals:
    def __init__(self, stores: Stores, settings: Settings) -> None:
        self._stores = stores
        self._settings = settings

    def redirect(self, spec: JobSpec, job_id: str) -> tuple[JobSpec, list[str]]:
        """Return the spec with its outputs redirected to scratch outputs, and notes on that."""
        outputs = {name: self._scratch(uri, job_id, name) for name, uri in spec.outputs.items()}
        notes = [
            get_message("note.rehearsal_output", name=name, uri=uri, outputs=spec.outputs[name])
            for name, uri in outputs.items()
        ]
        urls = spec.options.get("urls", "").split(",")
        # The script cannot access folders of the platform: pass a directory of the task instead.
        as_urls = [name for name in urls if not outputs.get(name, "").startswith("file:")]
        options = (
            {**spec.options, "urls": ",".join(as_urls)} if "urls" in spec.options else spec.options
        )
        scratch = f"{self._root(BUCKETS[0])}/{job_id}"
        redirected = replace(spec, outputs=outputs, options=options, scratch=scratch)
        return redirected, [*notes, *_urls_in_arguments(spec, scratch)]

    def begin(self, job: Job, real: Mapping[str, str]) -> Job:
        """Copy the newest checkpoint of every output; return the job with a note on each copy.

        An output in ``predownload`` is copied completely. A failed copy becomes a note.
        """
        notes = []
        for name, uri in job.spec.outputs.items():
            everything = name in job.spec.options.get("predownload", "").split(",")
            try:
                source = self._stores.at(real[name])
                start = _everything(source) if everything else _newest(source)
                notes += self._copy(start, source, self._stores.at(uri), name)
            except (DanluError, OSError) as error:
                notes.append(get_message("note.rehearsal_without", name=name, error=error))
        return replace(job, notes=(*job.notes, *notes))

    def _copy(self, start: Start, source: Location, to: Location, name: str) -> list[str]:
        if not start.objects:
            return []
        if start.size > _MAX_CHECKPOINT:
            return [
                get_message(
                    "note.rehearsal_too_large",
                    name=name,
                    size=size_text(start.size),
                    most=size_text(_MAX_CHECKPOINT),
                )
            ]
        for path, entry in start.objects.items():
            with source.storage.open(entry.key) as stream:
                to.storage.write(f"{to.prefix}{path}", stream)
        for path, text in start.texts.items():  # last: it must name only objects that exist
            to.storage.write(f"{to.prefix}{path}", text.encode())
        count = len(start.objects) + len(start.texts)
        files = files_text(count)
        return [
            get_message(
                "note.rehearsal_copy",
                name=name,
                files=files,
                size=size_text(start.size),
                uri=source.uri,
            )
        ]

    def remove(self, job: Job) -> None:
        """Remove the outputs of a rehearsal; do nothing for other jobs. May be repeated."""
        if job.spec.rehearsal:
            # Jobs stored by earlier versions have no ``scratch``.
            for uri in filter(None, [*job.spec.outputs.values(), job.spec.scratch]):
                self._delete(self._stores.at(uri))

    def sweep(self, records: Records, now: float) -> None:
        """Remove scratch outputs of a server killed between the copy and the record of a job."""
        before = first_id(now - _DAY)  # newer ones may belong to a submit in progress
        root = self._stores.at(self._root(BUCKETS[0]))
        for job_id in {path.partition("/")[0] for path, _ in root.tree()}:
            if job_id >= before:
                continue
            try:
                records.get(job_id)
            except NotFound:
                log.warning("outputs of an unknown rehearsal are removed job=%s", job_id)
                self._delete(self._stores.at(f"{self._root(BUCKETS[0])}/{job_id}"))

    def _scratch(self, uri: str, job_id: str, name: str) -> str:
        return f"{self._root(uri.partition('://')[0])}/{job_id}/{name}"

    def _root(self, scheme: str) -> str:
        """Return the URI below which all rehearsals write; ``scheme`` is the preferred scheme.

        It is a bucket if possible, because a script may write to its output as a URL.
        """
        if self._settings.cluster_store:
            return f"{self._settings.cluster_store.rstrip('/')}/{_FOLDER}"
        for candidate in (scheme, *BUCKETS):
            if candidate in BUCKETS and not endpoint_of(candidate, self._settings.stores):
                return f"{candidate}://{BUCKET}"
        # The folder of a bucket, which scripts see. No URL names it, because every scheme has an
        # endpoint.
        return file_uri(self._settings.store / "buckets" / BUCKET)

    def _delete(self, place: Location) -> None:
        for entry in list(place.storage.list(place.prefix)):
            place.storage.delete(entry.key)


def _newest(source: Location) -> Start:
    """Return the newest checkpoint of every folder that has one.

    The copied ``checkpoint`` file has relative paths and names no other checkpoint. A saver
    deletes old checkpoints by the paths in that file, which may be URLs of the real output.
    """
    found = _files(source)
    start = Start({}, {})
    for path, entry in found.items():
        folder, slash, name = path.rpartition("/")
        if name != _STATE or entry.size > _STATE_SIZE:
            continue
        text = (source.storage.read(entry.key) or b"").decode(errors="replace")
        newest = _NEWEST.search(text)
        if newest is None:
            continue
        prefix = newest[1].rpartition("/")[2]
        begin = f"{folder}{slash}{prefix}"
        parts = {p: e for p, e in found.items() if p == begin or p.startswith(f"{begin}.")}
        if parts:
            start.objects.update(parts)
            paths = f'model_checkpoint_path: "{prefix}"\nall_model_checkpoint_paths: "{prefix}"\n'
            start.texts[path] = paths
    return start


def _everything(source: Location) -> Start:
    return Start(_files(source), {})


def _files(source: Location) -> dict[str, Entry]:
    return {path: entry for path, entry in islice(source.tree(), _LISTED) if not path.endswith("/")}


def _urls_in_arguments(spec: JobSpec, scratch: str) -> Iterable[str]:
    """Return a note for each URL among the arguments; the script may read or write there."""
    return [
        get_message("note.rehearsal_url", uri=uri, scratch=scratch, redirected=REDIRECTED)
        for uri in dict.fromkeys(uri for _, uri in named_in(spec))
    ]
