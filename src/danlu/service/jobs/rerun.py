"""The request of a rerun: that of the first job with changes and other outputs."""

import re
from collections.abc import Collection, Mapping
from typing import Any

from danlu.errors import InvalidJob
from danlu.job.job import Job
from danlu.job.spec import ARGUMENTS, URL, JobSpec, has_own_folder
from danlu.messages import get_message

_NAMES = ("name", "job_name", "raw_job_name")  # the field's names in the dialects
_OUTPUT, _OUTPUTS = "train_url", "outputs"  # TI's output_path has a subfolder for each job


def request_again(
    old: Job,
    parameters: Mapping[str, Any],
    changes: Mapping[str, Any],
    *,
    same_output: bool,
    written: Collection[str] = (),
) -> dict[str, Any]:
    """Return the request of ``old`` with the fields in ``changes``; tables are merged.

    An output without a change gets a place beside that of ``old``: ``obs://b/log`` becomes
    ``obs://b/log-{name}``. That place differs for each job, also when the rerun is rerun. The same
    holds for the URLs among the arguments that are in ``written``: outputs of ``old``.

    Raises:
        InvalidJob: ``same_output`` is set and the job cannot use the same output.
    """
    request = {key: value for key, value in old.request.items() if key not in _NAMES}
    if same_output:
        request |= _as_before(old, request)
    elif not request.get("rehearse"):
        request |= _beside(request) | _arguments_beside(request, written)
    for field, value in changes.items():
        before = request.get(field)
        both = isinstance(before, Mapping) and isinstance(value, Mapping)
        request[field] = {**before, **value} if both and before else value
    request["parameters"] = {**request.get("parameters", {}), **parameters}
    return request


def note_places(spec: JobSpec, old: Job) -> list[str]:
    """Return a note for each output of a rerun that differs from that of the old job."""
    if spec.rehearsal or old.spec.rehearsal:
        return []
    key = "note.rerun_elsewhere_ti" if spec.dialect == "ti" else "note.rerun_elsewhere"
    return [
        get_message(key, name=name, uri=uri, job=old.name, old=old.spec.outputs[name])
        for name, uri in spec.outputs.items()
        if old.spec.outputs.get(name, uri).rstrip("/") != uri.rstrip("/")
    ]


def _beside(request: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if isinstance(request.get(_OUTPUT), str) and request[_OUTPUT]:
        found[_OUTPUT] = _sibling(request[_OUTPUT])
    if isinstance(request.get(_OUTPUTS), Mapping):
        found[_OUTPUTS] = {name: _sibling(uri) for name, uri in request[_OUTPUTS].items()}
    return found


_ENDING = re.compile(r"(?<=[^/])\.[A-Za-z][A-Za-z0-9]*$")  # of a file: model.h5
_TABLES = ("parameters", "hyperparameters")


def _arguments_beside(request: Mapping[str, Any], written: Collection[str]) -> dict[str, Any]:
    def moved(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        return URL.sub(lambda url: _url_beside(url[0]) if url[0] in written else url[0], value)

    found: dict[str, Any] = {}
    if ARGUMENTS in request:
        found[ARGUMENTS] = moved(request[ARGUMENTS])
    for table in _TABLES:
        if isinstance(request.get(table), Mapping):
            found[table] = {name: moved(value) for name, value in request[table].items()}
    return found


def _url_beside(uri: str) -> str:
    ending = _ENDING.search(uri)
    if ending is None or has_own_folder(uri):
        return _sibling(uri)
    return f"{uri[: ending.start()]}-{{name}}{ending[0]}"  # libraries choose a format by the ending


def _sibling(uri: str) -> str:
    if has_own_folder(uri):
        return uri
    scheme, _, place = uri.partition("://")
    path = place.rstrip("/")
    if scheme != "file" and "/" not in path:
        return f"{scheme}://{path}/{{name}}/"  # a suffix would name another bucket
    return f"{scheme}://{path}-{{name}}{'/' if place.endswith('/') else ''}"


def _as_before(old: Job, request: Mapping[str, Any]) -> dict[str, Any]:
    if old.spec.rehearsal:
        sentence = get_message("fault.same_output_rehearsal")
        raise InvalidJob([("same_output", sentence)])
    if old.spec.dialect == "ti":
        sentence = get_message("fault.same_output_ti")
        raise InvalidJob([("same_output", sentence)])
    named = request.get(_OUTPUTS)
    usual = _OUTPUT in old.spec.outputs and _OUTPUT not in (named or {})
    found: dict[str, Any] = {_OUTPUT: old.spec.outputs[_OUTPUT]} if usual else {}
    others = {k: uri for k, uri in old.spec.outputs.items() if not (usual and k == _OUTPUT)}
    return {**found, _OUTPUTS: others} if others else found
