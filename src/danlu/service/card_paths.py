"""Cards for paths: of the store, of a bucket, of nothing at all, and those not to be written."""

import re
from urllib.parse import urlsplit

from danlu.job.state import JobState, Reason
from danlu.service.card_case import Case, Values, below

_NOT_THERE = (
    *("FileNotFoundError", "NotADirectoryError", "OSError"),
    *("NotFoundError", "UnimplementedError"),  # TensorFlow's
)
_STORE = re.compile(r"['\"= ]((?:s3|obs|ks3|cos|gs|hdfs):/+[^'\"\s;]*)")
_EXISTS = re.compile(r"already exists|File exists")


def path_of_channel(case: Case) -> Values | None:
    """The job brings it already, and the script asks the store for it all the same."""
    path = _store_path(case)
    for name, local, uri in (*case.inputs(), *case.outputs()):
        if path and below(_plain(path), _plain(uri)):
            return {"path": path, "name": name, "local": local}
    return None


def path_url(case: Case) -> Values | None:
    """The job hands the address itself to the script, as its service did."""
    path, spec = _store_path(case), case.job.spec
    urls = spec.options.get("urls", "").split(",")
    for name, uri in (*spec.inputs.items(), *spec.outputs.items()):
        if path and name in urls and below(_plain(path), _plain(uri)):
            return {"path": path, "name": name}
    return None


def path_scheme(case: Case) -> Values | None:
    path = _store_path(case)
    return {"path": path} if path else None


def _store_path(case: Case) -> str:
    """Plain ``open`` knows local files only (manual, pitfall 2-4-1)."""
    if case.raised not in _NOT_THERE:
        return ""
    found = _STORE.search(f" {case.failure.message}")
    return found[1] if found else ""


def _plain(uri: str) -> str:
    """One spelling for a place: schemes are mixed, and ``os.path`` eats a slash of ``s3://``."""
    return re.sub(r"^\w+:/+", "", uri).rstrip("/")


def path_bucket(case: Case) -> Values | None:
    """``/bucket/key`` is how a console shows a place, and no path (manual, pitfall 2-4-1)."""
    path = case.path
    if case.raised not in _NOT_THERE or not path or not path.startswith("/"):
        return None
    bucket = path.split("/")[1]
    spec = case.job.spec
    places = [*spec.inputs.items(), *spec.outputs.items(), *_code(case)]
    for name, uri in places:
        parts = urlsplit(uri)
        if parts.scheme in ("s3", "obs", "ks3", "cos") and parts.netloc == bucket:
            return {"path": path, "bucket": bucket, "uri": f"{parts.scheme}:/{path}", "name": name}
    return None


def _code(case: Case) -> list[tuple[str, str]]:
    spec = case.job.spec
    return [("code", spec.options.get("code_origin", spec.code))]


def path_empty(case: Case) -> Values | None:
    """A flag that was sent without a value is there, so its default is not (pitfall 2-4-3)."""
    if case.raised not in _NOT_THERE or case.path is None:
        return None
    for arg in case.args:
        name, equals, value = arg.lstrip("-").partition("=")
        if equals and not value and (not case.path or case.mentions(name)):
            return {"name": name, "path": repr(case.path)}
    return None


def path_input(case: Case) -> Values | None:
    path = case.path
    if case.raised not in _NOT_THERE or not path:
        return None
    for name, local, uri in case.inputs():
        if below(path, local):
            rest = path[len(local) :].strip("/")
            return {"file": rest or path, "name": name, "uri": uri}
    return None


def input_gone(case: Case) -> Values | None:
    if case.job.state is not JobState.FAILED or case.job.reason is not Reason.FETCH_FAILED:
        return None
    for _, _, uri in case.inputs():
        if uri in case.failure.detail:
            return {"uri": uri, "name": case.job.name}
    return None


def export_exists(case: Case) -> Values | None:
    """Pitfall 4-4-3: a model's folder is never written twice."""
    if case.raised == "FileExistsError" or not _EXISTS.search(case.failure.message):
        return None
    if case.raised not in ("AssertionError", "ValueError", "RuntimeError", "AlreadyExistsError"):
        return None
    for name, local, uri in case.outputs():
        found = re.search(
            rf"(?:{re.escape(local)}|{re.escape(uri)})[^\s'\"]*", case.failure.message
        )
        if found:
            return {"path": found[0].rstrip("."), "name": name, "uri": uri}
    return None


def folder_exists(case: Case) -> Values | None:
    path = case.path
    if case.raised != "FileExistsError" or not path:
        return None
    ours = [local for _, local, _ in (*case.inputs(), *case.outputs())]
    private = case.task.command.private if case.task else ()
    if not any(below(path, folder) for folder in (*ours, *private)):
        return None
    return {"path": path}


def _denied(case: Case) -> str:
    errors = ("[Errno 13]", "[Errno 30]", "[Errno 1]")
    if case.raised in ("PermissionDeniedError", "FailedPreconditionError"):  # TensorFlow's
        return case.path or ""
    if case.raised not in ("PermissionError", "OSError"):
        return ""
    return case.path or "" if case.failure.message.startswith(errors) else ""


def denied_output(case: Case) -> Values | None:
    path = _denied(case)
    for name, local, _ in case.outputs():
        if path and below(path, local):
            return {"path": path, "name": name}
    return None


def denied_input(case: Case) -> Values | None:
    path = _denied(case)
    for name, local, _ in case.inputs():
        if path and below(path, local):
            return {"path": path, "name": name}
    return None


def denied_code(case: Case) -> Values | None:
    path = _denied(case)
    return {"path": path} if path and below(path, case.code()) else None


def denied_elsewhere(case: Case) -> Values | None:
    path = _denied(case)
    return {"path": path} if path.startswith("/") else None
