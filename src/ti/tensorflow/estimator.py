"""The estimator of TensorFlow scripts."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ti.framework import Framework, not_a_tensorflow

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ti.arguments import Arguments


class TensorFlow(Framework):
    """A script for TensorFlow 1 or 2: it sees the version it asks for, on the one that is there.

    ``script_mode`` has been the only way for long, and is accepted for programs that say so.
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
