"""The estimator for scikit-learn scripts."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ti.framework import Framework

if TYPE_CHECKING:
    from typing import Unpack

    from ti.arguments import Arguments


class SKLearn(Framework):
    """An estimator for a script that uses scikit-learn.

    ``framework_version`` has no effect; the script uses the installed scikit-learn.
    """

    framework_name = "sklearn"
    default_version = "0.20.0"

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
