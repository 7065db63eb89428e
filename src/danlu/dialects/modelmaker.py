"""ModelMaker: a file with four functions, one data set, parameters; the platform does the rest.

There is no main and no command line: a driver of ours finds the functions and calls them with the
place of the data and one dictionary: defaults, then ``parameters.json`` beside the file, then the
job's own. The model directory is the platform's.

On several nodes every card trains in a task of its own, or every node without cards, so that the
global step counts the steps of all, as ``train_max_steps`` does. One of them is the chief, which
has the model directory and, as a process beside it, the evaluator: checkpoints are read where
they are written, and the job's end is the chief's. A parameter server keeps the variables.

Contract: docs/dialects/modelmaker.md
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from danlu.dialects.code_dir import boot_file_of
from danlu.dialects.form import Form, resources_of
from danlu.job import estimator
from danlu.job.framework import TENSORFLOW_1
from danlu.job.plan import Command, Fetch, Place, Push, Role
from danlu.job.spec import JobSpec

NAME = "modelmaker"
ENTRY = "model_file"
TENSORFLOW = TENSORFLOW_1  # the service had no other

HOME = "/opt/modelmaker"
MODELS = "obs://danlu-models"
MODEL = "model"
CHIEF = "chief"
PARAMETER_SERVER = "danlu_runtime.parameter_server"

ALIASES = {"model_file": ("boot_file",)}
_WORDS = {"None": None, "True": True, "False": False}


def read(request: Mapping[str, Any]) -> JobSpec:
    form = Form(request, ALIASES)
    code = form.uri("code")
    if not code:
        form.fault("code", "must be the URI of the code: a directory or an archive.")
    origin = form.uri("code_origin") or code
    data = form.uri("data")
    common = form.common()
    outputs = form.uris("outputs")
    for name in outputs.keys() - {MODEL}:
        form.fault(f"outputs.{name}", f"is not there: the one output is {MODEL!r}.")
    spec = JobSpec(
        dialect=NAME,
        code=code,
        entry=boot_file_of(form, code, "ModelMaker", ENTRY),
        params=_parameters(form),
        inputs={"data": data} if data else {},
        outputs={MODEL: outputs.get(MODEL, f"{MODELS}/{common['name'] or 'job'}")},
        options={"code_origin": origin},
        **common,
    )
    return form.done(spec)


def roles(spec: JobSpec) -> Sequence[Role]:
    nodes, cards = spec.resources.nodes, max(1, spec.resources.gpus)
    if nodes == 1:
        return [Role("worker", **resources_of(spec))]
    share: dict[str, Any] = {
        "cpus": spec.resources.cpus / cards,
        "memory": spec.resources.memory // cards,
        "gpus": min(1, spec.resources.gpus),
    }
    return [
        # One is enough: the nodes are processes of one machine, with one network among them.
        Role("ps", cpus=0, decides=False),
        # The chief waits for their last steps; whoever is late is ended with the job.
        Role("worker", nodes * cards - 1, **share, decides=False),
        Role(CHIEF, **share),
    ]


def command(spec: JobSpec, place: Place) -> Command:
    cluster = _cluster(place)
    if place.role == "ps":
        return Command(run=PARAMETER_SERVER, module=True, env=cluster, private=(HOME,))
    code, data, model, job = (
        place.path(f"{HOME}/{name}") for name in ("code", "data", "model", "job.json")
    )
    told = {
        "path": data,
        "model_dir": model,
        "parameters": {name: json.loads(text) for name, text in spec.params},
    }
    return Command(
        run=f"{code}/{spec.entry}",
        args=(job,),  # for the driver; the functions see none
        functions=True,
        cwd=code,
        env={**cluster, **spec.env},
        sys_path=(code,),
        fetch=(
            Fetch(spec.code, code, "code", archive=spec.code.endswith((".tar.gz", ".zip"))),
            *(Fetch(uri, data, name) for name, uri in spec.inputs.items()),
        ),
        push=(Push(model, spec.outputs[MODEL], MODEL),) if _keeps_model(place) else (),
        private=(HOME,),
        folders=(model,) if spec.inputs else (model, data),
        files={job: json.dumps(told, ensure_ascii=False, indent=1)},
    )


def _keeps_model(place: Place) -> bool:
    return place.role == CHIEF or CHIEF not in place.peers


def _cluster(place: Place) -> Mapping[str, str]:
    if CHIEF not in place.peers:
        return {}
    cluster = {role: list(hosts) for role, hosts in place.peers.items()}
    told = {"cluster": cluster, "task": {"type": place.role, "index": place.index}}
    return {"TF_CONFIG": json.dumps(told)}


def _parameters(form: Form) -> tuple[tuple[str, str], ...]:
    """Return each parameter as JSON text. A text that is JSON counts as what it says."""
    found = {name: _decoded(value) for name, value in form.values("parameters")}
    for name, sentence in estimator.faults(found):
        form.fault(f"parameters.{name}", sentence)
    return tuple((name, json.dumps(value)) for name, value in found.items())


def _decoded(value: Any) -> Any:
    """The service's form has texts only, and its manual writes None for no value, as Python."""
    if not isinstance(value, str):
        return value
    if value in _WORDS:
        return _WORDS[value]
    try:
        return json.loads(value)
    except ValueError:
        return value
