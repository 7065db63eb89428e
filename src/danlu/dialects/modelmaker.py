"""The dialect of ModelMaker: a file with four functions, one data set, and parameters.

The file has no main function and no command line. Danlu's driver finds the functions and calls
them with the path of the data and one dictionary. The dictionary has the defaults, then the values
of ``parameters.json`` beside the file, then the parameters of the job. The platform chooses the
model directory.

With several nodes, each GPU has its own training task, or each node if there are no GPUs. The
global step then counts the steps of all tasks, as ``train_max_steps`` does. One task is the chief.
It has the model directory and runs the evaluator as a process beside it, so checkpoints are read
on the machine that writes them. The job ends with the chief. A parameter server holds the
variables.

Contract: docs/dialects/modelmaker.md
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from danlu.dialects.form import Form, boot_file_of, requirements_of, resources_of
from danlu.job import modelmaker
from danlu.job.plan import Command, Fetch, Place, Push, Role
from danlu.job.spec import TENSORFLOW_1, JobSpec
from danlu.messages import get_message

NAME = "modelmaker"
ENTRY = "model_file"
TENSORFLOW = TENSORFLOW_1  # the service had no other version

HOME = "/opt/modelmaker"
MODELS = "obs://danlu-models"
MODEL = "model"
CHIEF = "chief"
PARAMETER_SERVER = "danlu_runtime.cluster"

ALIASES = {"model_file": ("boot_file",)}
_WORDS = {"None": None, "True": True, "False": False}


def read(request: Mapping[str, Any]) -> JobSpec:
    form = Form(request, ALIASES)
    code = form.uri("code")
    if not code:
        form.fault("code", get_message("modelmaker.code_uri"))
    origin = form.uri("code_origin") or code
    data = form.uri("data")
    common = form.common()
    outputs = form.uris("outputs")
    for name in outputs.keys() - {MODEL}:
        form.fault(f"outputs.{name}", get_message("modelmaker.one_output", model=MODEL))
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
        # One is enough with the local executor: the nodes share one machine and its network.
        Role("ps", cpus=0, decides=False),
        # The chief waits for the last steps of the workers; late workers are stopped with the job.
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
    config = {
        "path": data,
        "model_dir": model,
        "parameters": {name: json.loads(text) for name, text in spec.params},
    }
    return Command(
        run=f"{code}/{spec.entry}",
        args=(job,),  # for the driver; the functions receive no arguments
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
        install=requirements_of(f"{code}/{spec.entry}", code),
        folders=(model,) if spec.inputs else (model, data),
        files={job: json.dumps(config, ensure_ascii=False, indent=1)},
    )


def _keeps_model(place: Place) -> bool:
    return place.role == CHIEF or CHIEF not in place.peers


def _cluster(place: Place) -> Mapping[str, str]:
    if CHIEF not in place.peers:
        return {}
    cluster = {role: list(hosts) for role, hosts in place.peers.items()}
    config = {"cluster": cluster, "task": {"type": place.role, "index": place.index}}
    return {"TF_CONFIG": json.dumps(config)}


def _parameters(form: Form) -> tuple[tuple[str, str], ...]:
    """Return each parameter as JSON text. A string that is valid JSON is decoded first."""
    found = {name: _decoded(value) for name, value in form.values("parameters")}
    for name, sentence in modelmaker.faults(found):
        form.fault(f"parameters.{name}", sentence)
    return tuple((name, json.dumps(value)) for name, value in found.items())


def _decoded(value: Any) -> Any:
    """Return the value of a string that is JSON, 'None', 'True' or 'False'; else the value itself.

    The service's form has strings only, and its manual uses Python's None for no value.
    """
    if not isinstance(value, str):
        return value
    if value in _WORDS:
        return _WORDS[value]
    try:
        return json.loads(value)
    except ValueError:
        return value
