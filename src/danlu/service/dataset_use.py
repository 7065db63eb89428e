"""Inputs that name a data set: what lies there now, and the place they stand for."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from danlu.job.dataset import SCHEME, Contents, Dataset
from danlu.service.tables import Found
from danlu.storage.locate import Location

# Every field of every dialect that names places: one, or several by the name of a channel.
READ = ("data_url", "data", "inputs", "channels")
WRITTEN = ("train_url", "output_path", "outputs")


def contents(location: Location) -> Contents:
    """Return what lies at a place now."""
    digest, files, size = hashlib.sha256(), 0, 0
    for path, entry in location.tree():
        digest.update(json.dumps([path, entry.size, entry.etag]).encode())
        if not path.endswith("/"):
            files, size = files + 1, size + entry.size
    return Contents(files, size, digest.hexdigest())


def resolve(request: Mapping[str, Any], place: Callable[[str, str], str | None]) -> dict[str, Any]:
    """Return the request with every data set of its inputs replaced by its place.

    ``place`` is given the channel and the URI as written; None leaves it as it is.
    """
    found = dict(request)
    for field, name, uri in _named(request, READ):
        there = place(name, uri)
        if there is None:
            continue
        several = isinstance(found[field], Mapping)
        found[field] = {**found[field], name: there} if several else there
    return found


def written(request: Mapping[str, Any]) -> Found:
    """Return a fault for every output that names a data set."""
    return [
        (name, f"{uri!r} is a data set, which is only read; name a place such as obs://bucket/out.")
        for _, name, uri in _named(request, WRITTEN)
    ]


def _named(request: Mapping[str, Any], fields: tuple[str, ...]) -> Iterator[tuple[str, str, str]]:
    """Yield field, channel and URI of every data set."""
    for field in fields:
        value = request.get(field)
        named = value if isinstance(value, Mapping) else {field: value}
        for name, uri in named.items():
            if isinstance(uri, str) and uri.startswith(SCHEME):
                yield field, str(name), uri


def change(dataset: Dataset, now: Contents) -> str:
    """Return what became of a data set since its version was made; empty when nothing did."""
    then = dataset.contents
    if then.digest == now.digest:
        return ""
    return (
        f"data set {dataset.title} has changed since that version was made "
        f"({_amount(then)} then, {_amount(now)} now)."
    )


def _amount(what: Contents) -> str:
    files = "1 file" if what.files == 1 else f"{what.files} files"
    return f"{files} of {what.size} bytes"
