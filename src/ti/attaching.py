"""From a job of the platform's back to an estimator."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from ti.arguments import DAY, DEFAULTS
from ti.exceptions import InvalidArguments
from ti.images import Runtime
from ti.training_job import TrainingJob

if TYPE_CHECKING:
    from ti.arguments import Arguments
    from ti.estimator import EstimatorBase
    from ti.session import Session

Kind = TypeVar("Kind", bound="EstimatorBase")


def found(kind: type[Kind], job_name: str, session: "Session", *, wait: bool, logs: bool) -> Kind:
    """Return the estimator of a job; see ``EstimatorBase.attach``."""
    session.settings  # noqa: B018  the language of what is said
    view = session.client.job(job_name)
    runtime = _runtime(view)
    if view["spec"]["dialect"] != "ti" or kind.framework_name not in ("", runtime.framework):
        what = f"a {view['spec']['dialect']} job"
        if view["spec"]["dialect"] == "ti":
            what = f"one of {runtime.framework}"
        sentence = f"{job_name!r} is {what}; print its output with: danlu logs -f {view['name']}"
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
        "source_dir": spec["code"],  # on the server already: another fit sends nothing
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
