"""The estimator for PyTorch scripts."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ti.framework import Framework

if TYPE_CHECKING:
    from typing import Unpack

    from ti.arguments import Arguments


class PyTorch(Framework):
    """An estimator for a script that uses PyTorch.

    ``framework_version`` has no effect; the script uses the installed PyTorch, if any.
    """

    framework_name = "pytorch"
    default_version = "1.1.0"

    def __init__(
        self,
        py_version: str = "py3",
        framework_version: str = default_version,
        distributions: Mapping[str, Any] | None = None,
        **arguments: "Unpack[Arguments]",
    ) -> None:
        super().__init__(
            arguments,
            py_version=py_version,
            framework_version=framework_version,
            distributions=distributions,
        )
