"""Base class of the estimators for frameworks with an image of the service."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, cast

from danlu.job import spec
from danlu.messages import get_message
from ti.arguments import got
from ti.estimator import EstimatorBase
from ti.exceptions import InvalidArguments
from ti.images import Runtime

if TYPE_CHECKING:
    from typing import Self

    from ti.arguments import Arguments

_PYTHON = re.compile(r"(?:py|python)?[23](?:[.\d]*)")


class Framework(EstimatorBase):
    """An estimator for a script that uses one framework in one version."""

    default_version: ClassVar[str] = ""
    further_names: ClassVar[tuple[str, ...]] = ()  # additional arguments of a subclass

    def __init__(
        self,
        given: Mapping[str, Any],
        *,
        py_version: str = "py3",
        framework_version: str,
        distributions: Mapping[str, Any] | None = None,
    ) -> None:
        faults = []
        if not isinstance(py_version, str) or not _PYTHON.fullmatch(py_version):
            faults.append(("py_version", get_message("ti.python", given=py_version)))
        if sentence := self._not_a_version(framework_version):
            faults.append(("framework_version", got(sentence, framework_version)))
        if not isinstance(distributions, Mapping | None):
            sentence = get_message("ti.distributions")
            faults.append(("distributions", got(sentence, distributions)))
        if not given.get("entry_point"):
            faults.append(("entry_point", get_message("ti.script_file")))
        own = {
            "py_version": py_version,
            "framework_version": framework_version,
            "distributions": distributions,
            **dict.fromkeys(self.further_names),
        }
        self.py_version = py_version
        self.framework_version = framework_version
        try:
            super().__init__(given, own)
        except InvalidArguments as error:
            faults += [fault for fault in error.faults if fault[0] not in dict(faults)]
        if faults:
            raise InvalidArguments(faults)

    def runtime(self) -> Runtime:
        if self.image_name:
            return super().runtime()
        return Runtime(self.framework_name, self.framework_version, self.py_version)

    def _not_a_version(self, version: Any) -> str:
        if isinstance(version, str) and version:
            return ""
        return get_message("ti.version", default_version=self.default_version)

    @classmethod
    def of_job(cls, given: "Arguments", runtime: Runtime, own: Mapping[str, Any]) -> "Self":
        version = runtime.version or cls.default_version
        made: Self = cast("Any", cls)(**given, framework_version=version, **own)
        return made


def not_a_tensorflow(version: Any) -> str:
    """Return the fault of a TensorFlow version; empty if it is valid.

    '1.14' and '1.14.0' are the same version.
    """
    if isinstance(version, str) and spec.parse(version) is not None:
        return ""
    return get_message("ti.tensorflow_version")
