"""DLS, the service MoXing was made for: a code directory, a boot file, ``--data_url`` always.

The service gave URLs to every script. A script that reads them itself still gets them; one that
takes a path gets a local directory, which MoXing's own functions accept as well. A job that names
a preset model has no code.

Contract: docs/dialects/dls.md
"""

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from danlu.dialects import dls_preset, first_generation, ps_worker
from danlu.dialects.channels import Channels, read_urls
from danlu.dialects.code_dir import boot_file_of, last_level
from danlu.dialects.form import Form, flag
from danlu.job.framework import TENSORFLOW_1
from danlu.job.plan import Command, Fetch, Place, Role
from danlu.job.spec import JobSpec

NAME = "dls"
ENTRY = "boot_file"
TENSORFLOW = TENSORFLOW_1  # the service had no other

HOME = "/home/work"
JOB_DIR = f"{HOME}/user-job-dir"


def read(request: Mapping[str, Any]) -> JobSpec:
    form = Form(request, {"code": ("code_dir",)})
    if form.anything(dls_preset.OPTION) not in (None, ""):
        spec = dls_preset.read(form, NAME)
        ps_worker.check(form, spec)
        return form.done(spec)
    code = form.uri("code")
    if not code:
        form.fault("code", "must be the URI of the code directory.")
    origin = form.uri("code_origin") or code
    data, train = form.uri("data_url"), form.uri("train_url")
    inputs = {"data_url": data} if data else {}
    outputs = {"train_url": train} if train else {}
    spec = JobSpec(
        dialect=NAME,
        code=code,
        entry=boot_file_of(form, code, "DLS"),
        params=form.params("parameters", taken=("data_url", "train_url")),
        inputs=inputs,
        outputs=outputs,
        options={
            "code_name": last_level(origin),
            "code_origin": origin,
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
    boot_file = f"{code}/{spec.entry}"
    channels = Channels(spec, place, inputs=f"{HOME}/inputs", outputs=f"{HOME}/outputs")
    preset = dls_preset.OPTION in spec.options
    places = dls_preset.shown(spec, channels.shown()) if preset else channels.shown()
    # An empty data set still reaches the script: manual, pitfall 2-4-3.
    told = [*{"data_url": "", **places}.items(), *spec.params]
    told += [pair for pair in _devices(place) if pair[0] not in dict(spec.params)]
    return Command(
        run=boot_file,
        args=tuple(flag(name, value) for name, value in told),
        cwd=code,
        env={"HOME": place.path(HOME), **first_generation.environment(spec, place), **spec.env},
        # Manual, pitfall 2-4-2: its cure for modules that are not found is done already.
        sys_path=tuple(dict.fromkeys((str(PurePosixPath(boot_file).parent), code))),
        fetch=(*(() if preset else (_code(spec, code),)), *channels.fetch()),
        # A script that gets URLs finds there what earlier jobs left; so does a preset model.
        push=channels.push(restored=(dls_preset.OUTPUT,) if preset else ()),
        private=("/cache", HOME),
        folders=(place.path("/cache"), *channels.folders()),
        files={boot_file: dls_preset.program(spec)} if preset else {},
    )


def _code(spec: JobSpec, to: str) -> Fetch:
    return Fetch(spec.code, to, "code", archive=spec.code.endswith((".tar.gz", ".zip")))


def _devices(place: Place) -> list[tuple[str, str]]:
    """The five flags of the manual's section 2.3; without GPUs ``num_gpus`` is left out there."""
    found = list(ps_worker.flags(place).items())
    if place.gpus and place.role == "worker":
        found.append(("num_gpus", str(len(place.gpus))))
    return found
