"""From an estimator to a job, and back: upload of its code, submission, and attaching."""

import datetime
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, TypeVar

from danlu.client import bundle
from danlu.errors import Conflict, InvalidJob
from danlu.messages import get_message
from ti import inputs as channels
from ti.arguments import DAY, DEFAULTS, UNUSED, hyperparameter_faults, plain
from ti.exceptions import InvalidArguments, renamed
from ti.following import Terminal, remarks_of
from ti.images import Runtime, base_name
from ti.session import Session
from ti.training_job import TrainingJob

if TYPE_CHECKING:
    from ti.arguments import Arguments
    from ti.estimator import EstimatorBase

Kind = TypeVar("Kind", bound="EstimatorBase")

# Field of a job -> argument of the SDK.
_NAMES = {
    "code": "source_dir",
    "channels": "inputs",
    "env": "envs",
    "flavor": "train_instance_type",
    "name": "job_name",
    "nodes": "train_instance_count",
    "parameters": "hyperparameters",
    "timeout": "train_max_run",
}
_TRIES = 5  # attempts to find an unused generated name
_MAX_NAME = 40  # maximum length of a name without its time


def start(estimator: "EstimatorBase", inputs: Any, job_name: str | None) -> TrainingJob:
    """Submit a job, print its name and the arguments that work differently, and return it.

    Raises:
        InvalidArguments: the job has faults (lists all of them); nothing was started.
        Conflict: the name is already used.
    """
    session, terminal = estimator.ti_session, Terminal()
    request = _request(estimator, inputs)
    view = _submitted(estimator, request, job_name)
    terminal.line(get_message("ti.training_job", name=view["name"]))
    unused = [get_message(UNUSED[name]) for name in estimator.unused]
    for note in (*view["notes"], *remarks_of(estimator, inputs), *unused):
        field, colon, sentence = _split_note(note)
        terminal.line(f"  {_NAMES.get(field, field)}{colon}{sentence}")
    return TrainingJob(session, view)


def _submitted(
    estimator: "EstimatorBase", request: Mapping[str, Any], job_name: str | None
) -> Mapping[str, Any]:
    for tried in range(_TRIES):
        name = job_name or made_up_name(estimator, datetime.datetime.now())
        try:
            return estimator.ti_session.client.submit({**request, "name": name})
        except InvalidJob as error:
            raise renamed(error.faults, _NAMES) from None
        except Conflict:
            # Another fit() used the same millisecond. The next name has a later one.
            if job_name or tried == _TRIES - 1:
                raise
    raise AssertionError("unreachable")


def made_up_name(estimator: "EstimatorBase", now: datetime.datetime) -> str:
    """Return ``base_job_name``, or else the image or framework name, followed by the time."""
    image = base_name(estimator.image_name) if estimator.image_name else ""
    base = estimator.base_job_name or image or estimator.framework_name
    words = re.sub(r"[^A-Za-z0-9_-]+", "-", base)[:_MAX_NAME].strip("-") or "job"
    return f"{words}-{now:%Y-%m-%d-%H-%M-%S}-{now.microsecond // 1000:03d}"


def _split_note(note: str) -> tuple[str, str, str]:
    """Return field, colon and sentence of a note. Chinese notes have a full-width colon."""
    found = re.match(r"([\w.]+)(: |：)(.*)", note, re.DOTALL)
    return (found[1], found[2], found[3]) if found else (note, "", "")


def _request(estimator: "EstimatorBase", inputs: Any) -> dict[str, Any]:
    session = estimator.ti_session
    if not estimator.entry_point:
        sentence = get_message("ti.no_image_program")
        raise InvalidArguments([("entry_point", sentence)])
    if faults := hyperparameter_faults(estimator.hyperparameters):
        raise InvalidArguments(faults)
    given = channels.named(inputs)
    output = channels.output_uri(session, estimator.output_path)
    local = [path for text in given.values() if (path := channels.local_path(text))]
    code = send(session, estimator.entry_point, estimator.source_dir, local)
    runtime = estimator.runtime()
    request = {
        "dialect": "ti",
        "code": code.uri,
        "code_origin": code.origin,
        "code_path": code.path,
        "entry_point": code.entry_point,
        "channels": channels.reached(session, given),
        "hyperparameters": plain(estimator.hyperparameters),
        "env": estimator.envs,
        "output_path": output,
        "distributions": estimator.distributions,
        "framework": runtime.framework,
        "framework_version": runtime.tensorflow,
        "py_version": runtime.python,
        "container_log_level": estimator.container_log_level,
        "train_instance_type": estimator.train_instance_type,
        "train_instance_count": estimator.train_instance_count,
        "train_max_run": estimator.train_max_run,
    }
    return {field: value for field, value in request.items() if value not in (None, "", {})}


@dataclass(frozen=True)
class UploadedCode:
    """Uploaded code. ``origin`` is the URI of its source, for display.

    ``path`` is the file or folder that was packed, for ``danlu rerun --fresh-code``. It is empty
    for code that is already in a store.
    """

    uri: str
    entry_point: str
    origin: str
    path: str = ""


def send(
    session: Session,
    entry_point: str,
    source_dir: "str | os.PathLike[str] | None",
    data: Sequence[Path] = (),
) -> UploadedCode:
    """Pack the code and upload it; the server stores equal code only once.

    Without a source directory, the script is packed with the modules it imports and the small
    files next to it. Folders of ``data`` inside the source directory are not packed. A source
    directory that is a URI is used as it is.

    Raises:
        InvalidArguments: the entry point or the source directory does not exist.
        Refused: the code is too large, or a link in it leads outside.
    """
    if source_dir is not None and "://" in os.fspath(source_dir):
        return UploadedCode(os.fspath(source_dir), entry_point, os.fspath(source_dir))
    path, entry = _located(entry_point, source_dir)
    with bundle.packed(bundle.select(path, session.settings, data)) as archive:
        uri = session.client.upload_code(archive)
    folder = path.parent if path.is_file() else path
    return UploadedCode(uri, entry, folder.absolute().as_uri(), os.path.abspath(path))


def _located(entry_point: str, source_dir: "str | os.PathLike[str] | None") -> tuple[Path, str]:
    """Return the folder or file to pack, and the file to start in it."""
    if source_dir is None:
        script = Path(entry_point).expanduser()
        if not script.is_file():
            sentence = get_message("ti.no_entry", entry_point=entry_point, getcwd=os.getcwd())
            raise InvalidArguments([("entry_point", sentence)])
        return script, script.name
    folder = Path(source_dir).expanduser()
    if not folder.is_dir():
        sentence = get_message("ti.no_directory", source_dir=os.fspath(source_dir))
        raise InvalidArguments([("source_dir", sentence)])
    if not (folder / entry_point).is_file():
        sentence = get_message("ti.no_entry", entry_point=entry_point, getcwd=os.fspath(source_dir))
        raise InvalidArguments([("entry_point", sentence)])
    return folder, str(PurePosixPath(entry_point))


def attach(kind: type[Kind], job_name: str, session: "Session", *, wait: bool, logs: bool) -> Kind:
    """Return the estimator of a job; see ``EstimatorBase.attach``."""
    session.settings  # noqa: B018  sets the language of the messages
    view = session.client.job(job_name)
    runtime = _runtime(view)
    if view["spec"]["dialect"] != "ti" or kind.framework_name not in ("", runtime.framework):
        dialect = view["spec"]["dialect"]
        kind_of_job = runtime.framework if dialect == "ti" else dialect
        values = {"job": job_name, "kind": kind_of_job, "name": view["name"]}
        sentence = get_message("ti.other_job", **values)
        raise InvalidArguments([("training_job_name", sentence)])
    own = {
        "py_version": view["request"].get("py_version", "py3"),
        "distributions": dict(view["request"].get("distributions") or {}),
    }
    estimator = kind.of_job(_arguments(view, session), runtime, own)
    estimator.latest_training_job = TrainingJob(session, view)
    if wait:
        estimator.latest_training_job.wait(logs=logs)
    return estimator


def _runtime(view: Mapping[str, Any]) -> Runtime:
    options = view["spec"]["options"]
    return Runtime(options.get("framework", "tensorflow"), view["spec"]["tensorflow"])


def _arguments(view: Mapping[str, Any], session: "Session") -> "Arguments":
    spec = view["spec"]
    longest = spec["timeout"] or DEFAULTS["train_max_run"]
    return {
        "entry_point": spec["entry"],
        "source_dir": spec["code"],  # already on the server, so another fit uploads nothing
        "hyperparameters": {name: json.loads(text) for name, text in spec["params"]},
        "envs": dict(spec["env"]),
        "container_log_level": int(spec["options"].get("log_level", 20)),
        "train_instance_count": spec["resources"]["nodes"],
        "train_instance_type": spec["resources"]["flavor"] or None,
        "train_max_run": longest,
        "train_max_wait": max(2 * DAY, longest + DAY),
        "output_path": spec["outputs"]["output_path"].removesuffix(f"/{view['name']}/output"),
        "ti_session": session,
    }
