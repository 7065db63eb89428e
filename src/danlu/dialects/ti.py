"""TI SDK jobs: an entry point in a source directory, channels, typed hyperparameters, /opt/ml.

A hyperparameter keeps its type: ``JobSpec.params`` hold it as JSON text, which is what the service
writes to ``hyperparameters.json`` too. Every instance runs the script; a parameter server, where
one is asked for, is a process of the platform's and never the user's script.

Contract: docs/dialects/ti.md
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from danlu.dialects.code_dir import boot_file_of
from danlu.dialects.form import Form, resources_of
from danlu.dialects.ti_environment import LOG_LEVEL, ML, Host
from danlu.errors import Unsupported
from danlu.job.framework import TENSORFLOW_1, UNDECIDED
from danlu.job.plan import Command, Fetch, Place, Push, Role
from danlu.job.spec import JobSpec

NAME = "ti"
ENTRY = "entry_point"

DEFAULT_OUTPUT = "cos://danlu-ti"
USUAL_CHANNEL = "training"
RESERVED = "ti_"
PARAMETER_SERVER = "danlu_runtime.parameter_server"
UPLOADED = "danlu://"  # a folder of the client's, sent as an archive

ALIASES = {
    "code": ("source_dir",),
    "entry_point": ("boot_file",),
    "channels": ("inputs",),
    "name": ("job_name",),
    "env": ("envs",),
    "nodes": ("train_instance_count",),
    "flavor": ("train_instance_type",),
    "timeout": ("train_max_run",),
}


def read(request: Mapping[str, Any]) -> JobSpec:
    form = Form(_plain(request), ALIASES)
    code = form.uri("code")
    if not code:
        form.fault("code", "must be the URI of the source directory.")
    distribution = _distribution(form)
    common = form.common()
    if _python(form) == "2" and common["tensorflow"] == UNDECIDED:
        common["tensorflow"] = TENSORFLOW_1
    output = (form.uri("output_path") or DEFAULT_OUTPUT).rstrip("/")
    spec = JobSpec(
        dialect=NAME,
        code=code,
        entry=boot_file_of(form, code, "TI", ENTRY),
        params=tuple((name, json.dumps(value)) for name, value in form.values("parameters")),
        inputs=form.uris("channels"),
        # One place for all outputs: archive, checkpoints and data lie below it.
        outputs={"output_path": f"{output}/{common['name'] or 'job'}/output"},
        options={
            "code_origin": form.uri("code_origin") or code,
            "distribution": distribution,
            "framework": form.text("framework", "tensorflow"),
            "log_level": str(form.count("container_log_level", LOG_LEVEL)),
        },
        **common,
    )
    form.done(spec)
    if distribution == "mpi":
        raise Unsupported(
            "distributions: mpi (TI SDK, distributed training with Horovod) is not there yet.",
            hint="Use {'parameter_server': {'enabled': True}}, or one instance.",
        )
    return spec


def roles(spec: JobSpec) -> Sequence[Role]:
    worker = Role("worker", spec.resources.nodes, **resources_of(spec))
    if spec.resources.nodes == 1 or spec.options["distribution"] != "parameter_server":
        return [worker]
    # One for the whole job, beside the first instance; it ends when the others have.
    return [Role("ps", 1, cpus=0, decides=False), worker]


def command(spec: JobSpec, place: Place) -> Command:
    host = Host(spec, place, _decoded(spec))
    if place.role == "ps":
        return Command(run=PARAMETER_SERVER, module=True, env=host.cluster(), private=(ML,))
    code = place.path(f"{ML}/code")
    output = place.path(f"{ML}/output")
    push = _outputs(spec, place, host.name)
    args = _arguments(host.hyperparameters)
    return Command(
        run=f"{code}/{spec.entry}",
        args=args,
        cwd=code,
        env={**host.variables(args), **host.cluster(), **spec.env},
        sys_path=(code,),
        fetch=(
            Fetch(spec.code, code, "code", archive=spec.code.endswith((".tar.gz", ".zip"))),
            *(
                Fetch(
                    uri,
                    place.path(f"{ML}/input/data/{name}"),
                    name,
                    archive=uri.startswith(UPLOADED),
                )
                for name, uri in spec.inputs.items()
            ),
        ),
        push=push,
        private=(ML,),
        folders=(
            place.path(f"{ML}/model"),
            place.path(f"{ML}/input/data"),
            output,
            f"{output}/intermediate",
        ),
        files=host.files(),
        hosts=host.addresses(),
        report=output,
    )


def _plain(request: Mapping[str, Any]) -> dict[str, Any]:
    """Settle two habits of the SDK: one channel given as a text, hyperparameters by their name.

    What is given as ``parameters`` comes on top: a job that is run again has its changes there.
    """
    plain = dict(request)
    for field in ("channels", "inputs"):
        if isinstance(plain.get(field), str) and plain[field]:
            plain[field] = {USUAL_CHANNEL: plain[field]}
    if "hyperparameters" in plain:
        given, more = plain.pop("hyperparameters"), plain.get("parameters") or {}
        both = isinstance(given, Mapping) and isinstance(more, Mapping)
        plain["parameters"] = {**given, **more} if both else given
    return plain


def _python(form: Form) -> str:
    """Return '2' or '3' of ``py_version``; empty where it was not given.

    Every script runs on this machine's Python 3: one for Python 2 is repaired where it must be.
    """
    given = form.text("py_version", "")
    found = re.fullmatch(r"(?:py|python)?([23])(?:[.\d]*)", given)
    if given and not found:
        form.fault("py_version", f"must be 'py3' or 'py2', got {given!r}.")
    return found[1] if found else ""


def _distribution(form: Form) -> str:
    chosen = []
    for name, value in form.values("distributions"):
        field = f"distributions.{name}"
        if name not in ("parameter_server", "mpi"):
            form.fault(field, "is no kind of distribution. Known: mpi, parameter_server.")
        elif not isinstance(value, Mapping) or not isinstance(value.get("enabled"), bool):
            form.fault(field, f"must be such as {{'enabled': True}}, got {value!r}.")
        elif value["enabled"]:
            chosen.append(name)
    if len(chosen) > 1:
        form.fault("distributions", "mpi and parameter_server exclude each other.")
    return chosen[0] if chosen else ""


def _decoded(spec: JobSpec) -> dict[str, Any]:
    return {name: json.loads(text) for name, text in spec.params if not name.startswith(RESERVED)}


def _arguments(hyperparameters: Mapping[str, Any]) -> tuple[str, ...]:
    """Return ``--key`` and the value as Python shows it; nothing after the key for an empty one."""
    words: list[str] = []
    for name, value in hyperparameters.items():
        words += [f"--{name}", str(value)] if str(value).strip() else [f"--{name}"]
    return tuple(words)


def _outputs(spec: JobSpec, place: Place, host: str) -> tuple[Push, ...]:
    """The model is the first instance's; what others write lies below their own names."""
    uri = spec.outputs["output_path"]
    own = uri if place.index == 0 else f"{uri}/{host}"
    mirrored = (
        Push(place.path(f"{ML}/checkpoints"), f"{own}/checkpoints", "checkpoints"),
        Push(place.path(f"{ML}/output/data"), f"{own}/data", "data"),
    )
    if place.index:
        return mirrored
    return (Push(place.path(f"{ML}/model"), uri, "model", pack="model.tar.gz"), *mirrored)
