"""Estimators of a framework whose image the service provides."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, cast

from danlu.job import framework
from ti.estimator import EstimatorBase
from ti.exceptions import InvalidArguments
from ti.images import Runtime

if TYPE_CHECKING:
    from typing_extensions import Self

    from ti.arguments import Arguments

_PYTHON = re.compile(r"(?:py|python)?[23](?:[.\d]*)")


class Framework(EstimatorBase):
    """A script in a source directory, for one framework in one version."""

    default_version: ClassVar[str] = ""
    further_names: ClassVar[tuple[str, ...]] = ()  # arguments of one class alone

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
            faults.append(("py_version", f"must be 'py3' or 'py2', got {py_version!r}."))
        if sentence := self._not_a_version(framework_version):
            faults.append(("framework_version", f"{sentence}, got {framework_version!r}."))
        if not isinstance(distributions, Mapping | None):
            sentence = "must be such as {'parameter_server': {'enabled': True}}"
            faults.append(("distributions", f"{sentence}, got {distributions!r}."))
        if not given.get("entry_point"):
            faults.append(("entry_point", "must be the name of a Python file: the script to run."))
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
        return f"must be a version in quotes such as {self.default_version!r}"

    @classmethod
    def of_job(cls, given: "Arguments", runtime: Runtime, own: Mapping[str, Any]) -> "Self":
        version = runtime.version or cls.default_version
        made: Self = cast("Any", cls)(**given, framework_version=version, **own)
        return made


def not_a_tensorflow(version: Any) -> str:
    """Return what is wrong with a version of TensorFlow; '1.14' and '1.14.0' are the same."""
    if isinstance(version, str) and framework.parse(version) is not None:
        return ""
    return "must be a version of TensorFlow in quotes such as '1.14' or '2.0.0'"
