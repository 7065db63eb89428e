"""Hints for paths: URLs of a store, bucket paths, empty paths, and paths without permission."""

import re
from urllib.parse import urlsplit

from danlu.dialects.options import input_option, option_of, output_option
from danlu.job.spec import is_first
from danlu.job.state import JobState, Reason
from danlu.service.diagnosis.hint_context import HintContext, Values, below, listed

_TENSORFLOWS = ("NotFoundError", "UnimplementedError")
_NOT_THERE = ("FileNotFoundError", "NotADirectoryError", "OSError", *_TENSORFLOWS)
_STORE = re.compile(r"['\"= ]((?:s3|obs|ks3|cos|gs|hdfs):/+[^'\"\s;]*)")
_SCHEMES = ("s3", "obs", "ks3", "cos")  # schemes that danlu_runtime/tffs and moxing read
# Bucket names have 3 to 63 lower-case letters, digits, dots and hyphens.
_BUCKET_PATH = re.compile(r"/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]/.+", re.DOTALL)
# Root folders of Linux machines, containers and notebooks.
_ROOTS = """
bin boot cache content data dataset datasets dev disk etc home input kaggle lib lib64 local media
mnt model models opt output proc root run sbin scratch srv storage sys tmp usr var work workspace
"""
_ROOT_FOLDERS = frozenset(_ROOTS.split())
_EXISTS = re.compile(r"already exists|File exists")
# A source line that writes a file: a mode such as 'w', or a function that only writes.
_WRITES = re.compile(
    r"\(.*,\s*(?:mode\s*=\s*)?['\"][rbt]*[wax][bt+]*['\"]"
    r"|\b(?:write_text|write_bytes|touch|mkdir|makedirs|save\w*)\("
    r"|\bto_(?:csv|excel|hdf|json|parquet|pickle)\("
)


def tmp_own(case: HintContext) -> Values | None:
    """Match a path in the machine's /tmp; a job has a /tmp of its own."""
    path = case.failure.hidden
    if not path or not case.raised:
        return None
    option = input_option(case.job.spec.dialect)
    return {"path": path, "input": option, "variant": "" if option else "no_input"}


def path_of_channel(case: HintContext) -> Values | None:
    """Match the URL of a channel that the job already provides as a local directory."""
    path = _store_path(case)
    for name, local, uri in (*case.inputs(), *case.outputs()):
        if path and below(_plain(path), _plain(uri)):
            return {"path": path, "name": name, "local": local}
    return None


def path_url(case: HintContext) -> Values | None:
    """Match a channel that is passed to the script as a URL, as its service did.

    Variant "joined": the script appended a name without a slash. The folder needs a slash then.
    """
    path, spec = _store_path(case), case.job.spec
    option = option_of(spec.dialect, "urls")
    if not path or not option:
        return None
    urls = spec.options.get("urls", "").split(",")
    channels = {name: uri for name, uri in {**spec.inputs, **spec.outputs}.items() if name in urls}
    for name, uri in channels.items():
        if below(_plain(path), _plain(uri)):
            variant = "write" if _is_write(case) else ""
            values = {"path": path, "name": name, "option": option, "gfile": _gfile(case)}
            return {**values, "variant": variant}
    for name, uri in channels.items():
        channel = option_of(spec.dialect, name)
        if channel and path.startswith(uri) and not _is_literal(case, path):
            folder = f"{channel} {uri}/"
            return {"path": path, "name": name, "given": f"{folder} {option}", "variant": "joined"}
    return None


def _is_write(case: HintContext) -> bool:
    """Return True if the line that failed writes a file."""
    where = case.failure.where
    return bool(where and _WRITES.search(where.text))


def _is_literal(case: HintContext, path: str) -> bool:
    return any(path in frame.text for frame in case.failure.frames)


def path_scheme(case: HintContext) -> Values | None:
    """Match a URL that the script opened as a local path.

    Variant "store": no job has access to the scheme. Variant "no_input": the service has no inputs.
    """
    path = _store_path(case)
    if not path:
        return None
    if not path.startswith(tuple(f"{scheme}:" for scheme in _SCHEMES)):
        return {"path": path, "variant": "store_write" if _is_write(case) else "store"}
    if case.raised in _TENSORFLOWS:
        return None  # TensorFlow queried the store: the object does not exist
    return {"path": path, "gfile": _gfile(case), **_options(case)}


def _options(case: HintContext) -> Values:
    """Return the options that add an input or output, and the variant of the message.

    The variant depends on what the failed line does, and on whether the service has the option.
    """
    dialect = case.job.spec.dialect
    given, written = input_option(dialect), output_option(dialect)
    variant = "" if given else "no_input"
    if _is_write(case):
        variant = "write" if written else "write_no_output"
    return {"input": given, "output": written, "variant": variant}


def _gfile(case: HintContext) -> str:
    """Return the name of TensorFlow's file module in the version of the script."""
    return "tf.gfile" if is_first(case.job.spec.tensorflow) else "tf.io.gfile"


def _store_path(case: HintContext) -> str:
    """Return the URL in the message of a file error, else "".

    Plain ``open`` opens local files only (manual, pitfall 2-4-1).
    """
    if case.raised not in _NOT_THERE:
        return ""
    found = _STORE.search(f" {case.failure.message}")
    return found[1] if found else ""


def _plain(uri: str) -> str:
    """Return a URI without its scheme.

    Scripts mix schemes, and ``os.path`` removes a slash of ``s3://``.
    """
    return re.sub(r"^\w+:/+", "", uri).rstrip("/")


def path_bucket(case: HintContext) -> Values | None:
    """Match ``/bucket/key``, which a console displays but is no path (manual, pitfall 2-4-1)."""
    path = case.path
    if case.raised not in _NOT_THERE or not path or not path.startswith("/"):
        return None
    bucket = path.split("/")[1]
    spec = case.job.spec
    for uri in (*spec.inputs.values(), *spec.outputs.values(), *_code(case)):
        parts = urlsplit(uri)
        if parts.scheme in _SCHEMES and parts.netloc == bucket:
            return _values_of_bucket(case, path, parts.scheme)
    return None


def path_bucket_unknown(case: HintContext) -> Values | None:
    """Match ``/bucket/key`` with a bucket that the job does not use; it may be a folder."""
    path = case.path
    if case.raised not in _NOT_THERE or not path or not _BUCKET_PATH.fullmatch(path):
        return None
    bucket = path.split("/")[1]
    if bucket in _ROOT_FOLDERS or any(below(path, folder) for folder in _folders(case)):
        return None
    scheme = {"kdl": "ks3", "ti": "cos"}.get(case.job.spec.dialect, "obs")
    return _values_of_bucket(case, path, scheme)


def _values_of_bucket(case: HintContext, path: str, scheme: str) -> Values:
    return {
        "path": path,
        "bucket": path.split("/")[1],
        "uri": f"{scheme}:/{path}",
        "gfile": _gfile(case),
        **_options(case),
    }


def _folders(case: HintContext) -> list[str]:
    """Return the folders of the task: channels, code and private paths."""
    channels = [local for _, local, _ in (*case.inputs(), *case.outputs())]
    private = case.task.command.private if case.task else ()
    return [*channels, *private, case.code()]


def _code(case: HintContext) -> list[str]:
    spec = case.job.spec
    return [spec.options.get("code_origin", spec.code)]


def url_folder(case: HintContext) -> Values | None:
    """Match a job that succeeded, and wrote files to a local folder with the name of a URL."""
    if case.job.state is not JobState.SUCCEEDED:
        return None
    kept = [task.outcome.kept for task in case.job.tasks if task.outcome and task.outcome.kept]
    urls = [url for each in kept for url in each.urls]
    if not urls:
        return None
    writes = {uri for task in case.job.plan for uri in task.command.writes}
    option = option_of(case.job.spec.dialect, "urls")
    given = bool(option) and any(url.startswith(uri) for url in urls for uri in writes)
    values = {"urls": listed(urls), "job": case.job.name, "gfile": _gfile(case)}
    return {**values, "option": option, "variant": "option"} if given else values


def path_empty(case: HintContext) -> Values | None:
    """Match a flag with an empty value, which overrides the flag's default (pitfall 2-4-3)."""
    if case.raised not in _NOT_THERE or case.path is None:
        return None
    for arg in case.args:
        name, equals, value = arg.lstrip("-").partition("=")
        if equals and not value and (not case.path or case.mentions(name)):
            option = _option_of_empty(case, name)
            return {"name": name, "option": option, "variant": "service" if option else ""}
    return None


def _option_of_empty(case: HintContext, name: str) -> str:
    """Return the option for a flag that the service itself passes without a value, else ""."""
    spec = case.job.spec
    return "" if name in dict(spec.params) else option_of(spec.dialect, name)


def path_input(case: HintContext) -> Values | None:
    path = case.path
    if case.raised not in _NOT_THERE or not path:
        return None
    for name, local, uri in case.inputs():
        if below(path, local):
            rest = path[len(local) :].strip("/")
            return {"file": rest or path, "name": name, "uri": uri}
    return None


def input_gone(case: HintContext) -> Values | None:
    if case.job.state is not JobState.FAILED or case.job.reason is not Reason.FETCH_FAILED:
        return None
    for _, _, uri in case.inputs():
        if uri in case.failure.detail:
            return {"uri": uri, "name": case.job.name}
    return None


def export_exists(case: HintContext) -> Values | None:
    """Match the export of a model to an existing folder (pitfall 4-4-3)."""
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


def folder_exists(case: HintContext) -> Values | None:
    path = case.path
    if case.raised != "FileExistsError" or not path:
        return None
    ours = [local for _, local, _ in (*case.inputs(), *case.outputs())]
    private = case.task.command.private if case.task else ()
    if not any(below(path, folder) for folder in (*ours, *private)):
        return None
    return {"path": path}


def _denied(case: HintContext) -> str:
    errors = ("[Errno 13]", "[Errno 30]", "[Errno 1]")
    if case.raised in ("PermissionDeniedError", "FailedPreconditionError"):  # TensorFlow errors
        return case.path or ""
    if case.raised not in ("PermissionError", "OSError"):
        return ""
    return case.path or "" if case.failure.message.startswith(errors) else ""


def denied_output(case: HintContext) -> Values | None:
    path = _denied(case)
    for name, local, _ in case.outputs():
        if path and below(path, local):
            return {"path": path, "name": name}
    return None


def denied_input(case: HintContext) -> Values | None:
    path = _denied(case)
    for name, local, _ in case.inputs():
        if path and below(path, local):
            return {"path": path, "name": name}
    return None


def denied_code(case: HintContext) -> Values | None:
    path = _denied(case)
    return {"path": path} if path and below(path, case.code()) else None


def denied_elsewhere(case: HintContext) -> Values | None:
    path = _denied(case)
    return {"path": path} if path.startswith("/") else None
