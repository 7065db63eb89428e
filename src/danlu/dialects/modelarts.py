"""The dialect of ModelArts custom scripts: code directory, boot file, ``data_url``, ``train_url``.

Inputs are downloaded to local disk before the script starts. Outputs are uploaded while it runs
and after it has ended. The script receives local paths, unless it copies with MoXing itself, like
scripts of the service's first generation. The user may choose other channel names.

Contract: docs/dialects/modelarts.md
"""

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from danlu.dialects import huawei
from danlu.dialects.form import Form, boot_file_of, flag, last_level, requirements_of
from danlu.dialects.huawei import Channels, read_urls
from danlu.job.plan import Command, Fetch, Place, Role
from danlu.job.spec import JobSpec
from danlu.messages import get_message

NAME = "modelarts"
ENTRY = "boot_file"

HOME = "/home/ma-user"
MOUNT = f"{HOME}/modelarts"
JOB_DIR = f"{MOUNT}/user-job-dir"


def read(request: Mapping[str, Any]) -> JobSpec:
    form = Form(request)
    code = form.uri("code") or form.uri("code_dir")
    if not code:
        form.fault("code_dir", get_message("fault.code_uri"))
    origin = form.uri("code_origin") or code
    entry = boot_file_of(form, code, "ModelArts")
    inputs = _channels(form, "data_url", "inputs")
    outputs = _channels(form, "train_url", "outputs")
    for name in inputs.keys() & outputs.keys():
        form.fault(f"outputs.{name}", get_message("fault.input_name"))
    by_environment = form.names("from_environment")
    for name in by_environment:
        if name not in inputs and name not in outputs:
            form.fault("from_environment", get_message("fault.no_channel", name=name))
    restored = form.names("predownload")
    for name in restored:
        if name not in outputs:
            form.fault("predownload", get_message("fault.no_output", name=name))
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
    huawei.check_ps_worker(form, spec)
    return form.done(spec)


def roles(spec: JobSpec) -> Sequence[Role]:
    return huawei.ps_worker_roles(spec)


def command(spec: JobSpec, place: Place) -> Command:
    code = place.path(f"{JOB_DIR}/{spec.options['code_name']}")
    # On the service, folders ended with a slash; scripts use ``train_url + "model.h5"``.
    channels = Channels(spec, place, f"{MOUNT}/inputs", f"{MOUNT}/outputs", slash=True)
    given = channels.shown()
    in_environment = set(spec.options["from_environment"].split(","))
    shown = {name: value for name, value in given.items() if name not in in_environment}
    hidden = {name: value for name, value in given.items() if name in in_environment}
    boot_file = f"{code}/{spec.entry}"
    return Command(
        run=boot_file,
        args=tuple(
            flag(name, value)
            for name, value in (*spec.params, *shown.items(), *_distributed(place).items())
        ),
        install=requirements_of(boot_file, code),
        cwd=_working_dir(spec, code),
        env={
            **huawei.first_generation_environment(spec, place),
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
        form.fault(f"{others}.{usual}", get_message("fault.given_already", given=usual))
    return {**({usual: uri} if uri else {}), **named}


def _working_dir(spec: JobSpec, code: str) -> str:
    """Return the working directory, by default the code directory.

    The service documents no default; scripts with relative paths expect the code directory.
    """
    return str(PurePosixPath(code, spec.options["working_dir"]))


def _distributed(place: Place) -> Mapping[str, str]:
    flags = huawei.ps_worker_flags(place)
    # A parameter server computes nothing; the service does not pass num_gpus to it.
    given = flags and place.role == "worker"
    return {**flags, "num_gpus": str(len(place.gpus))} if given else flags


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
