"""What a TI script finds around it: the ``TM_`` variables, their ``SM_`` twins, the three files.

TI copied the names of SageMaker's containers, and its users copied scripts of SageMaker's: so each
variable is there under both names. Reference: docs/reference/environment.md
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from danlu.job.plan import Place
from danlu.job.spec import JobSpec

ML = "/opt/ml"
REGION = "local"
LOG_LEVEL = 20


@dataclass(frozen=True)
class Host:
    """One instance of a job, seen from inside."""

    spec: JobSpec
    place: Place
    hyperparameters: Mapping[str, Any]  # the user's own, decoded

    @property
    def name(self) -> str:
        return f"algo-{self.place.index + 1}"

    def variables(self, args: Sequence[str]) -> dict[str, str]:
        """Return the environment of the script; ``args`` are its words."""
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
        """Return TF_CONFIG where there is a parameter server, and nothing elsewhere."""
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
        """Return where the names of the hosts lead."""
        peers = self.place.peers.get("worker") or (f"{self.place.host}:0",)
        return dict(zip(self._hosts(), map(_address, peers), strict=True))

    def files(self) -> dict[str, str]:
        """Return what the platform lays down below ``/opt/ml/input/config``."""
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

    # A job that was kept by an earlier version says neither of these two.
    def _framework(self) -> str:
        return self.spec.options.get("framework", "tensorflow")

    def _log_level(self) -> int:
        return int(self.spec.options.get("log_level", LOG_LEVEL))

    def _instance_type(self) -> str:
        return self.spec.resources.flavor or "local"

    def _interface(self) -> str:
        # The service says eth0; tasks of one machine meet on another.
        return "lo" if self.place.host.startswith("127.") else "eth0"

    def _path(self, inside: str) -> str:
        return self.place.path(f"{ML}/{inside}")


def _address(peer: str) -> str:
    """Return where a host is found.

    Hosts of one machine get a loopback address each: on the service, all of them may listen at
    the same port. That of the task is nobody else's on this machine, and makes the address.
    """
    host, _, port = peer.rpartition(":")
    if not host.startswith("127.") or port == "0":
        return host.strip("[]")
    high, low = divmod(int(port), 256)
    return f"127.{high}.{low}.1"


# Of the description of the whole training, told there and not by a variable of their own.
_NOT_ALONE = (
    "additional_framework_parameters",
    "channel_input_dirs",
    "hyperparameters",
    "is_master",
    "job_name",
    "master_hostname",
)


def _text(value: Any) -> str:
    """The rule of TI's container: text as it is, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value)


def _compact(value: Any) -> str:
    """The rule of SageMaker's: None is empty, JSON is short and sorted."""
    if isinstance(value, str) or value is None:
        return value or ""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
