"""The dialect of KDL: a trainer package and a module; arguments as one text or as form rows.

The service has no inputs or outputs. A script receives ``ks3://`` URLs as arguments and reads and
writes them itself. Empty rows of the form are not passed.

Contract: docs/dialects/kdl.md
"""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from danlu.dialects.form import Form, flag, resources_of
from danlu.errors import Unsupported
from danlu.job.plan import Command, Fetch, Install, Place, Role
from danlu.job.spec import TENSORFLOW_1, JobSpec
from danlu.messages import get_message

NAME = "kdl"
ENTRY = "module"  # the field that names the module to start
TENSORFLOW = TENSORFLOW_1  # the service had no other version

HOME = "/home/kdl"
JOB_DIR = f"{HOME}/job"

ALIASES = {
    "code": ("trainer_uri",),
    "module": ("module_name",),
    "name": ("raw_job_name", "job_name"),
    "flavor": ("flavor_id",),
    "cpus": ("cpu_limit",),
    "memory": ("memory_limit",),
    "gpus": ("gpu_limit",),
}
NOT_YET = {  # fields and the messages that describe them
    "ks3_encryption_key": "kdl.encryption",
    "create_tensorboard": "kdl.tensorboard",
    "tensorboard_name": "kdl.tensorboard",
    "logdir": "kdl.tensorboard",
}
_OFF = (None, "", False, "false", "False")
# ``python -m`` accepts parts of a path that are not Python identifiers (train.2-input).
_MODULE = re.compile(r"[^./\\\s\0-][^./\\\0]*(\.[^./\\\0]+)*")


def read(request: Mapping[str, Any]) -> JobSpec:
    form = Form(request, ALIASES)
    missing = [field for field in NOT_YET if form.anything(field) not in _OFF]
    code = form.uri("code")
    if not code:
        form.fault("code", get_message("kdl.code_uri"))
    origin = form.uri("code_origin") or code
    counts = {role: form.count(f"{role}_count", 0) for role in ("worker", "ps")}
    common = form.common()
    if common["resources"].nodes > 1:
        form.fault("nodes", get_message("kdl.nodes"))
    spec = JobSpec(
        dialect=NAME,
        code=code,
        entry=_module(form),
        params=tuple((name, text) for name, text in form.params("parameters") if text),
        options={
            "code_origin": origin,
            # Resolved at submit: ``top`` is the top-level folder of a source distribution;
            # ``into`` is the folder for a package without its enclosing folder.
            "top": "auto",
            "into": "",
            "job_args": _words(form),
            "prepare_command": form.text("prepare_command", ""),
            "finish_command": form.text("finish_command", ""),
            **{f"{role}_count": str(count) for role, count in counts.items()},
        },
        **common,
    )
    form.done(spec)
    if missing:
        what = get_message(NOT_YET[missing[0]])
        raise Unsupported.from_key("kdl.not_supported", field=missing[0], what=what)
    return spec


def roles(spec: JobSpec) -> Sequence[Role]:
    """Return the roles: the job ends with its master, then workers and ps are stopped."""
    workers, servers = int(spec.options["worker_count"]), int(spec.options["ps_count"])
    found = [
        Role("ps", servers, cpus=0, decides=False),
        Role("worker", workers, **resources_of(spec), decides=False),
        Role("master", 1, **resources_of(spec)),
    ]
    return [role for role in found if role.count]


def command(spec: JobSpec, place: Place) -> Command:
    job = place.path(JOB_DIR)
    top = spec.options["top"]
    package = job if top in ("", "auto") else f"{job}/{top}"
    code = f"{job}/{spec.options.get('into', '')}".rstrip("/")
    # In the manual, subprocess.call ignores the exit code of setup.py and the module runs anyway.
    # Some packages have their setup.py beside the module.
    setups = (package, f"{package}/{spec.entry.partition('.')[0]}")
    return Command(
        run=spec.entry,
        module=True,
        args=(
            *shlex.split(spec.options["job_args"]),
            *(flag(name, value) for name, value in spec.params),
        ),
        install=tuple(Install(folder, package=True, optional=True) for folder in setups),
        before=spec.options["prepare_command"],
        after=spec.options["finish_command"],
        cwd=package,  # as in the manual: os.chdir(module_dir), then setup.py, then the module
        env={"HOME": place.path(HOME), **_cluster(place), **spec.env},
        sys_path=(package,),
        fetch=(Fetch(spec.code, code, "code", archive=spec.code.endswith((".tar.gz", ".zip"))),),
        private=("/cache", HOME),
        folders=(place.path("/cache"), place.path(HOME)),
    )


def _module(form: Form) -> str:
    given = form.text("module")
    if given.endswith(".py") or "/" in given:
        dotted = given.removesuffix(".py").strip("./").replace("/", ".")
        form.fault("module", get_message("kdl.dotted", dotted=dotted, given=given))
    elif given and not _MODULE.fullmatch(given):
        form.fault("module", get_message("kdl.module", given=given))
    return given


def _words(form: Form) -> str:
    given = form.text("job_args", "")
    try:
        words = shlex.split(given)
    except ValueError as error:
        form.fault("job_args", get_message("kdl.words", error=error, given=given))
        return ""
    if any("\0" in word for word in words):
        form.fault("job_args", get_message("fault.nul_argument"))
        return ""
    return given


def _cluster(place: Place) -> Mapping[str, str]:
    """Return TF_CONFIG if the job has several tasks.

    Without TF_CONFIG a script runs as a single task; the service's sample script tests for it.
    """
    if sum(map(len, place.peers.values())) < 2:
        return {}
    cluster = {role: list(hosts) for role, hosts in place.peers.items()}
    config = {"cluster": cluster, "task": {"type": place.role, "index": place.index}}
    return {"TF_CONFIG": json.dumps(config)}
