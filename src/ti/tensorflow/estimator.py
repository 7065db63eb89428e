"""The estimator for TensorFlow scripts."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ti.framework import Framework, not_a_tensorflow

if TYPE_CHECKING:
    from typing import Unpack

    from ti.arguments import Arguments


class TensorFlow(Framework):
    """An estimator for a script that uses TensorFlow 1 or 2.

    The script sees the requested version, which is emulated on the installed TensorFlow.
    ``script_mode`` is accepted for compatibility; scripts always run in script mode.
    ``distributions`` may be ``{'parameter_server': {'enabled': True}}``.
    """

    framework_name = "tensorflow"
    default_version = "2.1.0"
    further_names = ("script_mode",)

    def __init__(
        self,
        py_version: str = "py3",
        framework_version: str = default_version,
        script_mode: bool = True,
        distributions: Mapping[str, Any] | None = None,
        **arguments: "Unpack[Arguments]",
    ) -> None:
        self.script_mode = script_mode
        super().__init__(
            arguments,
            py_version=py_version,
            framework_version=framework_version,
            distributions=distributions,
        )

    def _not_a_version(self, version: Any) -> str:
        return not_a_tensorflow(version)
