"""KDL: a trainer package, a module to run, arguments as one text or as rows of a form.

The service has no inputs or outputs of its own: a script is given ``ks3://`` URLs among its
arguments and reads and writes them itself. Empty rows of the form are not passed.

Contract: docs/dialects/kdl.md
"""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from danlu.dialects.form import Form, flag, resources_of
from danlu.errors import Unsupported
from danlu.job.framework import TENSORFLOW_1
from danlu.job.plan import Command, Fetch, Install, Place, Role
from danlu.job.spec import JobSpec

NAME = "kdl"
ENTRY = "module"  # the field that says what to start
TENSORFLOW = TENSORFLOW_1  # the service had no other

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
NOT_YET = {
    "ks3_encryption_key": "objects encrypted with a key of the customer's",
    "create_tensorboard": "a TensorBoard made together with a job",
    "tensorboard_name": "a TensorBoard made together with a job",
    "logdir": "a TensorBoard made together with a job",
}
_OFF = (None, "", False, "false", "False")
_MODULE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


def read(request: Mapping[str, Any]) -> JobSpec:
    form = Form(request, ALIASES)
    missing = [field for field in NOT_YET if form.anything(field) not in _OFF]
    code = form.uri("code")
    if not code:
        form.fault("code", "must be the URI of a trainer package: a directory or a .tar.gz.")
    origin = form.uri("code_origin") or code
    counts = {role: form.count(f"{role}_count", 0) for role in ("worker", "ps")}
    common = form.common()
    if common["resources"].nodes > 1:
        form.fault("nodes", "KDL counts tasks by role: give worker_count and ps_count instead.")
    spec = JobSpec(
        dialect=NAME,
        code=code,
        entry=_module(form),
        params=tuple((name, text) for name, text in form.params("parameters") if text),
        options={
            "code_origin": origin,
            "top": "auto",  # a source distribution has one folder at its top: found at submit
            "job_args": _words(form),
            "prepare_command": form.text("prepare_command", ""),
            "finish_command": form.text("finish_command", ""),
            **{f"{role}_count": str(count) for role, count in counts.items()},
        },
        **common,
    )
    form.done(spec)
    if missing:
        raise Unsupported(f"{missing[0]}: {NOT_YET[missing[0]]} is not there yet.")
    return spec


def roles(spec: JobSpec) -> Sequence[Role]:
    """A job is its master; workers and parameter servers help it and are ended with it."""
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
    return Command(
        run=spec.entry,
        module=True,
        args=(
            *shlex.split(spec.options["job_args"]),
            *(flag(name, value) for name, value in spec.params),
        ),
        install=(Install(package, package=True),),
        before=spec.options["prepare_command"],
        after=spec.options["finish_command"],
        cwd=package,  # the manual: os.chdir(module_dir), then setup.py, then the module
        env={"HOME": place.path(HOME), **_cluster(place), **spec.env},
        sys_path=(package,),
        fetch=(Fetch(spec.code, job, "code", archive=spec.code.endswith((".tar.gz", ".zip"))),),
        private=("/cache", HOME),
        folders=(place.path("/cache"), place.path(HOME)),
    )


def _module(form: Form) -> str:
    given = form.text("module")
    if given.endswith(".py") or "/" in given:
        dotted = given.removesuffix(".py").strip("./").replace("/", ".")
        form.fault("module", f"must be a dotted name such as {dotted!r}, got {given!r}.")
    elif given and not _MODULE.fullmatch(given):
        form.fault("module", f"must be a dotted name such as 'trainer.task', got {given!r}.")
    return given


def _words(form: Form) -> str:
    given = form.text("job_args", "")
    try:
        words = shlex.split(given)
    except ValueError as error:
        form.fault("job_args", f"cannot be split into words ({error}): {given!r}.")
        return ""
    if any("\0" in word for word in words):
        form.fault("job_args", "holds a NUL character, which no argument can.")
        return ""
    return given


def _cluster(place: Place) -> Mapping[str, str]:
    """A script without TF_CONFIG runs alone: the service's own sample tests exactly that."""
    if sum(map(len, place.peers.values())) < 2:
        return {}
    cluster = {role: list(hosts) for role, hosts in place.peers.items()}
    told = {"cluster": cluster, "task": {"type": place.role, "index": place.index}}
    return {"TF_CONFIG": json.dumps(told)}
