"""ModelArts custom scripts: a code directory, a boot file, ``data_url`` and ``train_url``.

Inputs are brought to local disk before the script starts and outputs taken away while it runs
and after it; the script sees local paths, unless it copies with MoXing itself, as scripts of the
service's first generation do. Names other than the two are the user's to choose.

Contract: docs/dialects/modelarts.md
"""

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from danlu.dialects import first_generation, ps_worker
from danlu.dialects.channels import Channels, read_urls
from danlu.dialects.code_dir import boot_file_of, last_level
from danlu.dialects.form import Form, flag
from danlu.job.plan import Command, Fetch, Install, Place, Role
from danlu.job.spec import JobSpec

NAME = "modelarts"
ENTRY = "boot_file"

HOME = "/home/ma-user"
MOUNT = f"{HOME}/modelarts"
JOB_DIR = f"{MOUNT}/user-job-dir"


def read(request: Mapping[str, Any]) -> JobSpec:
    form = Form(request)
    code = form.uri("code") or form.uri("code_dir")
    if not code:
        form.fault("code_dir", "must be the URI of the code directory.")
    origin = form.uri("code_origin") or code
    entry = boot_file_of(form, code, "ModelArts")
    inputs = _channels(form, "data_url", "inputs")
    outputs = _channels(form, "train_url", "outputs")
    for name in inputs.keys() & outputs.keys():
        form.fault(f"outputs.{name}", "is the name of an input too.")
    by_environment = form.names("from_environment")
    for name in by_environment:
        if name not in inputs and name not in outputs:
            form.fault("from_environment", f"{name!r} is no input or output of this job.")
    restored = form.names("predownload")
    for name in restored:
        if name not in outputs:
            form.fault("predownload", f"{name!r} is no output of this job.")
    spec = JobSpec(
        dialect=NAME,
        code=code,
        entry=entry,
        params=form.params("parameters", taken={*inputs, *outputs}),
        inputs=inputs,
        outputs=outputs,
        options={
            "code_name": last_level(origin),
            "code_origin": origin,
            "working_dir": form.text("working_dir", ""),
            "from_environment": ",".join(by_environment),
            "predownload": ",".join(restored),
            "urls": read_urls(form, {**inputs, **outputs}),
        },
        **form.common(),
    )
    ps_worker.check(form, spec)
    return form.done(spec)


def roles(spec: JobSpec) -> Sequence[Role]:
    return ps_worker.roles(spec)


def command(spec: JobSpec, place: Place) -> Command:
    code = place.path(f"{JOB_DIR}/{spec.options['code_name']}")
    channels = Channels(spec, place, inputs=f"{MOUNT}/inputs", outputs=f"{MOUNT}/outputs")
    told = channels.shown()
    in_environment = set(spec.options["from_environment"].split(","))
    shown = {name: value for name, value in told.items() if name not in in_environment}
    hidden = {name: value for name, value in told.items() if name in in_environment}
    boot_file = f"{code}/{spec.entry}"
    return Command(
        run=boot_file,
        args=tuple(
            flag(name, value)
            for name, value in (*spec.params, *shown.items(), *_distributed(place).items())
        ),
        install=_requirements(boot_file, code),
        cwd=_working_dir(spec, code),
        env={
            **first_generation.environment(spec, place),
            **_environment(place, code),
            **hidden,
            **spec.env,
        },
        sys_path=tuple(dict.fromkeys((str(PurePosixPath(boot_file).parent), code))),
        fetch=(
            Fetch(spec.code, code, "code", archive=spec.code.endswith((".tar.gz", ".zip"))),
            *channels.fetch(),
        ),
        push=channels.push(spec.options.get("predownload", "").split(",")),
        private=("/cache", HOME),
        folders=(place.path("/cache"), place.path(f"{MOUNT}/log"), *channels.folders()),
    )


def _channels(form: Form, usual: str, others: str) -> dict[str, str]:
    uri = form.uri(usual)
    named = form.uris(others)
    if uri and usual in named:
        form.fault(f"{others}.{usual}", f"was given as {usual} already.")
    return {**({usual: uri} if uri else {}), **named}


def _requirements(boot_file: str, code: str) -> tuple[Install, ...]:
    """One page of the service has the file in the code directory, another beside the boot file."""
    folders = dict.fromkeys((code, str(PurePosixPath(boot_file).parent)))
    names = ("pip-requirements.txt", "requirements.txt")
    return tuple(Install(f"{folder}/{name}") for folder in folders for name in names)


def _working_dir(spec: JobSpec, code: str) -> str:
    """The service promises none; the code directory is what scripts with relative paths expect."""
    return str(PurePosixPath(code, spec.options["working_dir"]))


def _distributed(place: Place) -> Mapping[str, str]:
    flags = ps_worker.flags(place)
    # A parameter server computes nothing: the service tells it of no GPUs.
    told = flags and place.role == "worker"
    return {**flags, "num_gpus": str(len(place.gpus))} if told else flags


def _environment(place: Place, code: str) -> Mapping[str, str]:
    workers = place.peers.get("worker", (place.host,))
    return {
        "HOME": place.path(HOME),
        "MA_HOME": place.path(HOME),
        "MA_JOB_DIR": place.path(JOB_DIR),
        "MA_MOUNT_PATH": place.path(MOUNT),
        "MA_LOG_DIR": place.path(f"{MOUNT}/log"),
        "WORKSPACE": code,
        "LD_LIBRARY_PATH": code,
        "MA_NUM_HOSTS": str(len(workers)),
        "VC_WORKER_NUM": str(len(workers)),
        "VC_WORKER_HOSTS": ",".join(host.rsplit(":", 1)[0] for host in workers),
        "VC_TASK_INDEX": str(place.index),
        "MA_TASK_NAME": place.role,
        "MA_NUM_GPUS": str(len(place.gpus)),
        "MA_CURRENT_IP": place.host,
        "MA_CURRENT_INSTANCE_NAME": f"modelarts-job-{place.job_id}-{place.task}",
    }
