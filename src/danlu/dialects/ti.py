"""The dialect of TI SDK jobs: entry point, source directory, channels, typed hyperparameters.

The files of a job are below /opt/ml. A hyperparameter keeps its type: ``JobSpec.params`` holds it
as JSON text, which the service writes to ``hyperparameters.json`` too. Every instance runs the
script. A parameter server, if requested, is a process of the platform and never the user's script.

Contract: docs/dialects/ti.md
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from danlu.dialects.form import Form, boot_file_of, resources_of
from danlu.errors import Unsupported
from danlu.job.plan import Command, Fetch, Place, Push, Role
from danlu.job.spec import TENSORFLOW_1, UNDECIDED, JobSpec
from danlu.messages import get_message

ML = "/opt/ml"
REGION = "local"
LOG_LEVEL = 20


@dataclass(frozen=True)
class Host:
    """One instance of a job, with the environment and files of its script."""

    spec: JobSpec
    place: Place
    hyperparameters: Mapping[str, Any]  # decoded, without reserved names

    @property
    def name(self) -> str:
        return f"algo-{self.place.index + 1}"

    def variables(self, args: Sequence[str]) -> dict[str, str]:
        """Return the environment of the script; ``args`` are its arguments."""
        facts = self._facts()
        values = {
            **{key: value for key, value in facts.items() if key not in _NOT_ALONE},
            "hps": self.hyperparameters,
            "channels": list(self.spec.inputs),
            "framework_params": self._reserved(),
            "user_args": list(args),
            "training_env": facts,
            **{f"channel_{name}": path for name, path in self._channels().items()},
            **{f"hp_{name}": value for name, value in self.hyperparameters.items()},
        }
        return {
            **{f"TM_{key.upper()}": _text(value) for key, value in values.items()},
            **{f"SM_{key.upper()}": _compact(value) for key, value in values.items()},
            "TI_TRAINING_FRAMEWORK": self._framework(),
            "TRAINING_JOB_NAME": self.spec.name,
            "QCLOUD_REGION": REGION,
        }

    def cluster(self) -> dict[str, str]:
        """Return TF_CONFIG if the job has a parameter server, else no variable."""
        peers = self.place.peers
        if "ps" not in peers:
            return {}
        master, *workers = peers["worker"]
        role, index = self.place.role, self.place.index
        if role == "worker":
            role, index = ("worker", index - 1) if index else ("master", 0)
        config = {
            "cluster": {"master": [master], "ps": list(peers["ps"]), "worker": workers},
            "environment": "cloud",
            "task": {"type": role, "index": index},
        }
        return {"TF_CONFIG": json.dumps(config)}

    def addresses(self) -> dict[str, str]:
        """Return the addresses of the host names."""
        peers = self.place.peers.get("worker") or (f"{self.place.host}:0",)
        return dict(zip(self._hosts(), map(_address, peers), strict=True))

    def files(self) -> dict[str, str]:
        """Return the configuration files below ``/opt/ml/input/config``, with their texts."""
        reserved = {name: json.dumps(value) for name, value in self._reserved().items()}
        config = self._path("input/config")
        return {
            f"{config}/hyperparameters.json": json.dumps({**dict(self.spec.params), **reserved}),
            f"{config}/inputdataconfig.json": json.dumps(self._input_data_config()),
            f"{config}/resourceconfig.json": json.dumps(self._resource_config()),
        }

    def _facts(self) -> dict[str, Any]:
        return {
            "model_dir": self._path("model"),
            "output_dir": self._path("output"),
            "output_data_dir": self._path("output/data"),
            "output_intermediate_dir": self._path("output/intermediate"),
            "input_dir": self._path("input"),
            "input_config_dir": self._path("input/config"),
            "input_data_config": self._input_data_config(),
            "resource_config": self._resource_config(),
            "channel_input_dirs": self._channels(),
            "hyperparameters": self.hyperparameters,
            "additional_framework_parameters": {},
            "module_dir": self._path("code"),
            "module_name": str(PurePosixPath(self.spec.entry).with_suffix("")),
            "user_entry_point": self.spec.entry,
            "framework_module": f"{self._framework()}:main",
            "job_name": self.spec.name,
            "hosts": self._hosts(),
            "current_host": self.name,
            "current_instance_type": self._instance_type(),
            "master_hostname": self._hosts()[0],
            "is_master": self.place.index == 0,
            "num_gpus": len(self.place.gpus),
            "num_cpus": max(1, int(self.place.cpus)),
            "log_level": self._log_level(),
            "network_interface_name": self._interface(),
        }

    def _reserved(self) -> dict[str, Any]:
        reserved = {
            "ti_program": self.spec.entry,
            "ti_submit_directory": self.spec.options["code_origin"],
            "ti_container_log_level": self._log_level(),
            "ti_job_name": self.spec.name,
            "ti_region": REGION,
        }
        if "ps" in self.place.peers:
            reserved["ti_parameter_server_enabled"] = True
        return reserved

    def _hosts(self) -> list[str]:
        count = len(self.place.peers.get("worker", ())) or 1
        return [f"algo-{number}" for number in range(1, count + 1)]

    def _channels(self) -> dict[str, str]:
        return {name: self._path(f"input/data/{name}") for name in self.spec.inputs}

    def _input_data_config(self) -> dict[str, Any]:
        return {name: {"TrainingInputMode": "File"} for name in self.spec.inputs}

    def _resource_config(self) -> dict[str, Any]:
        return {
            "current_host": self.name,
            "current_instance_type": self._instance_type(),
            "hosts": self._hosts(),
            "network_interface_name": self._interface(),
        }

    # Jobs stored by earlier versions have neither of these two options.
    def _framework(self) -> str:
        return self.spec.options.get("framework", "tensorflow")

    def _log_level(self) -> int:
        return int(self.spec.options.get("log_level", LOG_LEVEL))

    def _instance_type(self) -> str:
        return self.spec.resources.flavor or "local"

    def _interface(self) -> str:
        # The service uses eth0; tasks on one machine connect through the loopback interface.
        return "lo" if self.place.host.startswith("127.") else "eth0"

    def _path(self, inside: str) -> str:
        return self.place.path(f"{ML}/{inside}")


def _address(peer: str) -> str:
    """Return the IP address of a host.

    On the service, all hosts may listen on the same port. Hosts on one machine therefore get a
    loopback address each. It is made from the port of the task, which is unique on this machine.
    """
    host, _, port = peer.rpartition(":")
    if not host.startswith("127.") or port == "0":
        return host.strip("[]")
    high, low = divmod(int(port), 256)
    return f"127.{high}.{low}.1"


# Entries of TM_TRAINING_ENV and SM_TRAINING_ENV without a variable of their own.
_NOT_ALONE = (
    "additional_framework_parameters",
    "channel_input_dirs",
    "hyperparameters",
    "is_master",
    "job_name",
    "master_hostname",
)


def _text(value: Any) -> str:
    """Return the value of a variable as TI's container writes it: a string, or JSON."""
    return value if isinstance(value, str) else json.dumps(value)


def _compact(value: Any) -> str:
    """Return the value of a variable as SageMaker's container writes it.

    None is empty; JSON is compact and sorted.
    """
    if isinstance(value, str) or value is None:
        return value or ""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


NAME = "ti"
ENTRY = "entry_point"

DEFAULT_OUTPUT = "cos://danlu-ti"
USUAL_CHANNEL = "training"
RESERVED = "ti_"
PARAMETER_SERVER = "danlu_runtime.cluster"
UPLOADED = "danlu://"  # a folder of the client, uploaded as an archive

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
        form.fault("code", get_message("ti.source_uri"))
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
        # One URI for all outputs: archive, checkpoints and data are below it.
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
        raise Unsupported.from_key("ti.no_mpi")
    return spec


def roles(spec: JobSpec) -> Sequence[Role]:
    worker = Role("worker", spec.resources.nodes, **resources_of(spec))
    if spec.resources.nodes == 1 or spec.options["distribution"] != "parameter_server":
        return [worker]
    # One for the whole job, beside the first instance; it ends after the other tasks.
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
    """Return the request with two SDK conventions resolved.

    A channel given as a string becomes the channel ``training``. ``hyperparameters`` becomes
    ``parameters``; values in ``parameters`` take precedence, because a rerun has its changes there.
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
    """Return '2' or '3' from the field ``py_version``; "" if it is missing.

    Every script runs on this machine's Python 3. Python 2 code is repaired where necessary.
    """
    given = form.text("py_version", "")
    found = re.fullmatch(r"(?:py|python)?([23])(?:[.\d]*)", given)
    if given and not found:
        form.fault("py_version", get_message("ti.python", given=given))
    return found[1] if found else ""


def _distribution(form: Form) -> str:
    chosen = []
    for name, value in form.values("distributions"):
        field = f"distributions.{name}"
        if name not in ("parameter_server", "mpi"):
            form.fault(field, get_message("ti.no_distribution"))
        elif not isinstance(value, Mapping) or not isinstance(value.get("enabled"), bool):
            form.fault(field, get_message("ti.enabled", value=value))
        elif value["enabled"]:
            chosen.append(name)
    if len(chosen) > 1:
        form.fault("distributions", get_message("ti.exclusive"))
    return chosen[0] if chosen else ""


def _decoded(spec: JobSpec) -> dict[str, Any]:
    return {name: json.loads(text) for name, text in spec.params if not name.startswith(RESERVED)}


def _arguments(hyperparameters: Mapping[str, Any]) -> tuple[str, ...]:
    """Return ``--key`` and ``str(value)`` for each entry; only ``--key`` if the value is blank."""
    words: list[str] = []
    for name, value in hyperparameters.items():
        words += [f"--{name}", str(value)] if str(value).strip() else [f"--{name}"]
    return tuple(words)


def _outputs(spec: JobSpec, place: Place, host: str) -> tuple[Push, ...]:
    """Return the outputs of an instance.

    Only the first instance stores the model. The others store their files below their host names.
    """
    uri = spec.outputs["output_path"]
    own = uri if place.index == 0 else f"{uri}/{host}"
    mirrored = (
        Push(place.path(f"{ML}/checkpoints"), f"{own}/checkpoints", "checkpoints"),
        Push(place.path(f"{ML}/output/data"), f"{own}/data", "data"),
    )
    if place.index:
        return mirrored
    return (Push(place.path(f"{ML}/model"), uri, "model", pack="model.tar.gz"), *mirrored)
