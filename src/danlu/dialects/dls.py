"""The dialect of DLS, for which MoXing was made: a code directory and a boot file.

``--data_url`` is always passed. DLS passed URLs to every script. Here ``train_url`` is a URL unless
the code needs a local path. ``data_url`` is a local directory, which MoXing's functions accept as
well, unless the code copies it with MoXing. A job with a preset model has no code.

Contract: docs/dialects/dls.md
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from danlu.dialects import huawei
from danlu.dialects.form import Form, boot_file_of, flag, last_level
from danlu.dialects.huawei import Channels, read_urls
from danlu.errors import Unsupported
from danlu.job import presets
from danlu.job.plan import Command, Fetch, Place, Role
from danlu.job.spec import TENSORFLOW_1, JobSpec
from danlu.messages import get_message

PRESET_OPTION = "preset"
PRESET_OUTPUT = "train_url"

_CODE = ("code", "code_origin", "boot_file")
_CHECKPOINT = "checkpoint_url"
# The prefix of a checkpoint, which is not a file itself; a user may name one of its files.
_PREFIX = re.compile(r"(.*\.ckpt.*?)(?:\.index|\.meta|\.data-\d+-of-\d+)?")
_PROGRAM = '''"""The preset model {name}."""

from moxing.tensorflow.preset import main

main("{name}")
'''


def read_preset(form: Form, dialect: str) -> JobSpec:
    """Return the spec of a request that names a preset model.

    Raises:
        Unsupported: Danlu does not implement the network.
    """
    name = form.text(PRESET_OPTION)
    if name in presets.NOT_BUILT:
        why = get_message(presets.NOT_BUILT[name])
        raise Unsupported.from_key("preset.not_built", name=name, why=why)
    if name not in presets.NAMES:
        form.fault(PRESET_OPTION, presets.unknown(name))
    for field in _CODE:
        if form.anything(field) not in (None, ""):
            form.fault(field, get_message("preset.has_own"))
    parameters = form.params("parameters", taken=presets.CHANNELS)
    for field, sentence in presets.faults(dict(parameters)):
        form.fault(f"parameters.{field}", sentence)
    given = {channel: form.uri(channel) for channel in presets.CHANNELS}
    _needed(form, given, presets.values(dict(parameters)))
    folder, _, file = given[_CHECKPOINT].rpartition("/")
    checkpoint = _PREFIX.fullmatch(file) if folder else None
    if checkpoint:
        given[_CHECKPOINT] = folder
    inputs = {channel: given[channel] for channel in ("data_url", _CHECKPOINT) if given[channel]}
    outputs = {PRESET_OUTPUT: given[PRESET_OUTPUT]} if given[PRESET_OUTPUT] else {}
    return JobSpec(
        dialect=dialect,
        code="",
        entry=f"{name}.py",
        params=parameters,
        inputs=inputs,
        outputs=outputs,
        options={
            PRESET_OPTION: name,
            "code_name": name,
            "code_origin": "",
            "checkpoint": checkpoint[1] if checkpoint else "",
            "urls": read_urls(form, {**inputs, **outputs}),
        },
        **form.common(),
    )


def preset_program(spec: JobSpec) -> str:
    """Return the text of the entry file of a preset model."""
    return _PROGRAM.format(name=spec.options[PRESET_OPTION])


def preset_channels(spec: JobSpec, channels: Mapping[str, str]) -> dict[str, str]:
    """Return the channels as passed to the program, with the prefix of a checkpoint appended."""
    flags = dict(channels)
    if spec.options["checkpoint"]:
        flags[_CHECKPOINT] += f"/{spec.options['checkpoint']}"
    return flags


def _needed(form: Form, given: Mapping[str, str], values: Mapping[str, object]) -> None:
    if not given["data_url"]:
        form.fault("data_url", get_message("preset.needs_data"))
    if values["run_mode"] == "eval" and not given[_CHECKPOINT]:
        form.fault(_CHECKPOINT, get_message("preset.needs_checkpoint"))
    if not given[PRESET_OUTPUT]:
        form.fault(PRESET_OUTPUT, get_message("preset.needs_output"))


NAME = "dls"
ENTRY = "boot_file"
TENSORFLOW = TENSORFLOW_1  # the service had no other version
NOT_DEFINED = "not defined"  # value of the option num_gpus if a strict parser rejects the flag
OUTPUTS_AS_URLS = True  # a second job finds the checkpoints of the first one at the URL

HOME = "/home/work"
JOB_DIR = f"{HOME}/user-job-dir"


def read(request: Mapping[str, Any]) -> JobSpec:
    form = Form(request, {"code": ("code_dir",)})
    if form.anything(PRESET_OPTION) not in (None, ""):
        spec = read_preset(form, NAME)
        huawei.check_ps_worker(form, spec)
        return form.done(spec)
    code = form.uri("code")
    if not code:
        form.fault("code", get_message("fault.code_uri"))
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
    huawei.check_ps_worker(form, spec)
    return form.done(spec)


def roles(spec: JobSpec) -> Sequence[Role]:
    return huawei.ps_worker_roles(spec)


def command(spec: JobSpec, place: Place) -> Command:
    code = place.path(f"{JOB_DIR}/{spec.options['code_name']}")
    boot_file = f"{code}/{spec.entry}"
    channels = Channels(spec, place, inputs=f"{HOME}/inputs", outputs=f"{HOME}/outputs")
    preset = PRESET_OPTION in spec.options
    places = preset_channels(spec, channels.shown()) if preset else channels.shown()
    # Pass data_url even if it is empty: manual, pitfall 2-4-3.
    flags = [*{"data_url": "", **places}.items(), *spec.params]
    flags += [pair for pair in _devices(spec, place) if pair[0] not in dict(spec.params)]
    return Command(
        run=boot_file,
        args=tuple(flag(name, value) for name, value in flags),
        cwd=code,
        env={
            "HOME": place.path(HOME),
            **huawei.first_generation_environment(spec, place),
            **spec.env,
        },
        # The manual's fix for modules that are not found, pitfall 2-4-2.
        sys_path=tuple(dict.fromkeys((str(PurePosixPath(boot_file).parent), code))),
        fetch=(*(() if preset else (_code(spec, code),)), *channels.fetch()),
        # A script with URLs finds the outputs of earlier jobs there; restore them for a preset.
        push=channels.push(restored=(PRESET_OUTPUT,) if preset else ()),
        private=("/cache", HOME),
        folders=(place.path("/cache"), *channels.folders()),
        files={boot_file: preset_program(spec)} if preset else {},
    )


def _code(spec: JobSpec, to: str) -> Fetch:
    return Fetch(spec.code, to, "code", archive=spec.code.endswith((".tar.gz", ".zip")))


def _devices(spec: JobSpec, place: Place) -> list[tuple[str, str]]:
    """Return the five flags of the manual's section 2.3; without GPUs, ``num_gpus`` is 1."""
    found = list(huawei.ps_worker_flags(place).items())
    if place.role == "worker" and spec.options.get("num_gpus") != NOT_DEFINED:
        found.append(("num_gpus", str(len(place.gpus) or 1)))
    return found
