"""Which device each clone computes on, and where the variables are."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime.gpus import has_gpu
from moxing.tensorflow.executor.flags import get_flag

_VARIABLES = ("Variable", "VariableV2", "VarHandleOp", "AutoReloadVariable", "MutableHashTableV2")
_CPU = "/device:CPU:0"


@dataclass(frozen=True)
class Placement:
    """``clones`` devices. With one, TensorFlow places everything itself."""

    clones: int
    kind: str  # GPU or CPU

    def model(self, clone: int) -> Any:
        """Return where a clone's model is: for ``tf.device``."""
        if self.clones == 1:
            return ""  # None would undo what a cluster places around it
        return _on(f"/device:{self.kind}:{clone}")

    def inputs(self) -> Any:
        return _CPU

    def configure(self, config: tf.ConfigProto) -> None:
        if self.kind == "CPU" and self.clones > 1:
            config.device_count["CPU"] = self.clones


def placement() -> Placement:
    """Read the flags and look at the machine."""
    clones = int(get_flag("num_gpus") or 1)
    if clones < 1:
        raise ValueError(f"--num_gpus must be 1 or more, got {clones}.")
    on_gpus = not get_flag("clone_on_cpu") and has_gpu() and _gpus() >= clones
    if clones > 1 and not on_gpus and not get_flag("clone_on_cpu"):
        found = _gpus() if has_gpu() else 0
        if get_flag("strict_gpus"):
            raise ValueError(
                f"--num_gpus={clones} and {found} GPU(s) are there. Without --strict_gpus the "
                "clones run on the CPU."
            )
        tf.logging.warning(
            "--num_gpus=%d and %d GPU(s) are there: the model runs as %d clones on the CPU.",
            *(clones, found, clones),
        )
    return Placement(clones, "GPU" if on_gpus else "CPU")


def _gpus() -> int:
    return len(tf.config.list_physical_devices("GPU"))


def _on(device: str) -> Callable[[Any], str]:
    """Return a device function: variables on the first CPU, the rest on ``device``.

    What the model places by itself stays there.
    """

    def place(operation: Any) -> str:
        own = tf.DeviceSpec.from_string(_CPU if operation.type in _VARIABLES else device)
        given = tf.DeviceSpec.from_string(operation.device or "")
        return str(own.make_merged_spec(given).to_string())

    return place
