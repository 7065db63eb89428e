"""Jobs of the library of preset models (预置模型库): a network by name, data, and no code.

What runs is a file of two lines that the plan shows: who wants more begins with it.
"""

import re
from collections.abc import Mapping

from danlu.dialects.channels import read_urls
from danlu.dialects.form import Form
from danlu.errors import Unsupported
from danlu.job import presets
from danlu.job.spec import JobSpec

OPTION = "preset"
OUTPUT = "train_url"

_CODE = ("code", "code_origin", "boot_file")
_CHECKPOINT = "checkpoint_url"
# A checkpoint may be named by its files, of which none has just this name.
_PREFIX = re.compile(r"(.*\.ckpt.*?)(?:\.index|\.meta|\.data-\d+-of-\d+)?")  # of its files
_PROGRAM = '''"""The preset model {name}."""

from moxing.tensorflow.preset import main

main("{name}")
'''


def read(form: Form, dialect: str) -> JobSpec:
    """Return the job of a request that names a preset model.

    Raises:
        Unsupported: nobody outside knows the network.
    """
    name = form.text(OPTION)
    if name in presets.UNPUBLISHED:
        raise Unsupported(
            f"preset: the network {name} is not there: its architecture was never published.",
            hint="Take one that is, such as resnet_v1_50.",
        )
    if name not in presets.NAMES:
        form.fault(OPTION, presets.unknown(name))
    for field in _CODE:
        if form.anything(field) not in (None, ""):
            form.fault(field, "comes with the preset model; leave it out.")
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
    outputs = {OUTPUT: given[OUTPUT]} if given[OUTPUT] else {}
    return JobSpec(
        dialect=dialect,
        code="",
        entry=f"{name}.py",
        params=parameters,
        inputs=inputs,
        outputs=outputs,
        options={
            OPTION: name,
            "code_name": name,
            "code_origin": "",
            "checkpoint": checkpoint[1] if checkpoint else "",
            "urls": read_urls(form, {**inputs, **outputs}),
        },
        **form.common(),
    )


def program(spec: JobSpec) -> str:
    """Return the file that is started."""
    return _PROGRAM.format(name=spec.options[OPTION])


def shown(spec: JobSpec, channels: Mapping[str, str]) -> dict[str, str]:
    """Return what the program is told of its channels: of a checkpoint, which one."""
    told = dict(channels)
    if spec.options["checkpoint"]:
        told[_CHECKPOINT] += f"/{spec.options['checkpoint']}"
    return told


def _needed(form: Form, given: Mapping[str, str], values: Mapping[str, object]) -> None:
    if not given["data_url"]:
        sentence = "a preset model needs it: a folder with a directory for each class, or TFRecord"
        form.fault("data_url", f"{sentence} files.")
    if values["run_mode"] == "eval" and not given[_CHECKPOINT]:
        form.fault(_CHECKPOINT, "an evaluation needs it: the model to evaluate.")
    if not given[OUTPUT]:
        form.fault(OUTPUT, "a preset model needs it: the place of its checkpoints and its model.")
