"""Parsing of a request field by field; all faults are collected and raised at once.

A field that the dialect does not read is a fault too, so that a misspelt option is never ignored.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

from danlu.errors import InvalidJob
from danlu.job import spec as framework
from danlu.job.definitions import text_of
from danlu.job.form import FieldReader
from danlu.job.job import NAME
from danlu.job.plan import Install
from danlu.job.spec import MACHINE_RETRIES, REHEARSAL, JobSpec, Resources
from danlu.messages import get_message
from danlu.settings import size
from danlu.storage.names import is_name

FLAG = re.compile(r"[A-Za-z0-9_-]{1,64}")
KEY = re.compile(r"[^\s=\0]{1,256}")
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
URI = re.compile(r"[a-z][a-z0-9]*://.+")

_MAX_NUMBER = 1_000_000_000  # seconds, CPUs: more than any job needs
_MAX_COUNT = 1_000_000


class Form(FieldReader):
    """The fields of a request and the faults found in them.

    ``aliases`` maps a field to other names of the service. Faults use the name in the request.
    """

    def __init__(
        self, request: Mapping[str, Any], aliases: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        super().__init__(request, [])
        self._aliases = aliases or {}
        # Handled before the dialect reads the request; code_path is the client's code directory.
        self._asked |= {"dialect", "algorithm", "code_path"}

    def fault(self, field: str, sentence: str) -> None:
        name, dot, rest = field.partition(".")
        super().fault(f"{self._written(name)}{dot}{rest}", sentence)

    def done(self, spec: JobSpec) -> JobSpec:
        """Return the spec, after a check for unknown fields.

        Raises:
            InvalidJob: there are faults; ``partial`` is the spec.
        """
        self.check_unknown()
        if self._faults:
            raise InvalidJob(self._faults, partial=spec)
        return spec

    def count(self, field: str, default: int, *, least: int = 0, most: int = _MAX_COUNT) -> int:
        value = self._take(field, default)
        if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
            return value
        if isinstance(value, int) and value > most:
            self.fault(field, get_message("fault.at_most", most=most, value=value))
        else:
            self.fault(field, get_message("fault.at_least", least=least, value=value))
        return default

    def anything(self, field: str) -> Any:
        """Return the value of a field without a check; None if it is missing."""
        return self._take(field, None)

    def number(self, field: str, default: float) -> float:
        value = self._take(field, default)
        if (
            isinstance(value, int | float)
            and not isinstance(value, bool)
            and 0 <= value <= _MAX_NUMBER
        ):
            return float(value)
        self.fault(field, get_message("fault.up_to", most=_MAX_NUMBER, value=value))
        return default

    def bytes(self, field: str) -> int:
        value = self._take(field, 0)
        try:
            return size(value or 0)
        except (TypeError, ValueError):
            self.fault(field, get_message("fault.size", value=value))
            return 0

    def uri(self, field: str) -> str:
        """Return an optional URI; "" if it is missing."""
        return self._check_uri(field, self.text(field, ""))

    def uris(self, field: str) -> dict[str, str]:
        """Return a table of names chosen by the user and their URIs."""
        found = {}
        for name, uri in self._pairs(field):
            if not FLAG.fullmatch(name):
                self.fault(f"{field}.{name}", get_message("fault.no_flag", name=name))
            elif not isinstance(uri, str) or not uri:
                self.fault(f"{field}.{name}", get_message("fault.uri", uri=uri))
            else:
                found[name] = self._check_uri(f"{field}.{name}", uri)
        return found

    def params(self, field: str, *, taken: Iterable[str] = ()) -> tuple[tuple[str, str], ...]:
        """Return names and values as text, in the order given.

        A name in ``taken``, the names of channels, is a fault.
        """
        found = []
        for name, value in self._pairs(field):
            if not FLAG.fullmatch(name):
                self.fault(f"{field}.{name}", get_message("fault.no_flag", name=name))
            elif name in taken:
                self.fault(f"{field}.{name}", get_message("fault.channel_name"))
            elif (text := text_of(value)) is None:
                self.fault(f"{field}.{name}", get_message("fault.plain_value", value=value))
            elif "\0" in text:
                self.fault(f"{field}.{name}", get_message("fault.nul_argument"))
            else:
                found.append((name, text))
        return tuple(found)

    def values(self, field: str) -> tuple[tuple[str, Any], ...]:
        """Return names and values of any JSON type, in the order given."""
        found = []
        for name, value in self._pairs(field):
            if not KEY.fullmatch(name):
                sentence = get_message("fault.no_name", name=name)
                self.fault(f"{field}.{name}", sentence)
            elif "\0" in str(value):
                self.fault(f"{field}.{name}", get_message("fault.nul_argument"))
            else:
                found.append((name, value))
        return tuple(found)

    def variables(self, field: str) -> dict[str, str]:
        """Return a table of environment variables."""
        found = {}
        for name, value in self._pairs(field):
            if not VARIABLE.fullmatch(name):
                sentence = get_message("fault.variable")
                self.fault(f"{field}.{name}", sentence)
            elif not isinstance(value, str) or "\0" in value:
                self.fault(f"{field}.{name}", get_message("fault.text", value=value))
            else:
                found[name] = value
        return found

    def names(self, field: str) -> tuple[str, ...]:
        value = self._take(field, [])
        if isinstance(value, list | tuple) and all(isinstance(name, str) for name in value):
            return tuple(value)
        self.fault(field, get_message("fault.names", value=value))
        return ()

    def common(self) -> dict[str, Any]:
        """Return the fields that the jobs of all services have, as arguments of JobSpec."""
        rehearsal = self.switch("rehearse")
        return {
            "name": self._name(),
            "env": self.variables("env"),
            "secrets": self.names("secrets"),
            "retries": self.count("retries", MACHINE_RETRIES),
            "priority": self.count("priority", 0, least=-1000),
            "timeout": self.number("timeout", 0),
            "tensorflow": self._tensorflow(),
            "max_steps": self.count("max_steps", 0) or (REHEARSAL if rehearsal else 0),
            "rehearsal": rehearsal,
            "resources": Resources(
                nodes=self.count("nodes", 1, least=1),
                cpus=self.number("cpus", 0),
                memory=self.bytes("memory"),
                gpus=self.count("gpus", 0),
                flavor=self.text("flavor", ""),
            ),
        }

    def _tensorflow(self) -> str:
        value = self._take("framework_version", framework.UNDECIDED)
        if value in (framework.UNDECIDED, framework.NOT_OURS, ""):
            return "" if value == framework.NOT_OURS else framework.UNDECIDED
        version = framework.parse(value) if isinstance(value, str) else None
        if version is None:
            self.fault("framework_version", get_message("fault.tensorflow", value=value))
        return version or framework.UNDECIDED

    def _name(self) -> str:
        name = self.text("name", "")
        if name and not NAME.fullmatch(name):
            self.fault("name", get_message("fault.job_name", name=name))
        return name

    def _take(self, field: str, default: Any) -> Any:
        names = (field, *self._aliases.get(field, ()))
        first_time = field not in self._asked
        self._asked.update(names)
        given = [name for name in names if self._data.get(name) is not None]
        if first_time and len(given) > 1 and self._data[given[1]] != self._data[given[0]]:
            self._faults.append((given[1], get_message("fault.given_already", given=given[0])))
        return self._data[given[0]] if given else default

    def _written(self, field: str) -> str:
        names = (field, *self._aliases.get(field, ()))
        return next((name for name in names if self._data.get(name) is not None), field)

    def _pairs(self, field: str) -> list[tuple[str, Any]]:
        value = self._take(field, {})
        if isinstance(value, Mapping):
            return [(str(name), item) for name, item in value.items()]
        self.fault(field, get_message("fault.pairs", value=value))
        return []

    def _check_uri(self, field: str, uri: str) -> str:
        if uri and (not URI.fullmatch(uri) or "\0" in uri):
            self.fault(field, get_message("fault.bucket_uri", uri=uri))
        return uri


def flag(name: str, value: str) -> str:
    """Return ``--name=value`` as one argument, whatever the value contains."""
    return f"--{name}={value}"


def resources_of(spec: JobSpec) -> Mapping[str, Any]:
    """Return the resources of each task, as arguments of Role."""
    return {
        "cpus": spec.resources.cpus,
        "memory": spec.resources.memory,
        "gpus": spec.resources.gpus,
    }


def boot_file_of(form: Form, code: str, service: str, field: str = "boot_file") -> str:
    """Return the boot file, relative to the code directory."""
    given = form.text(field)
    inside = given.removeprefix(code.rstrip("/") + "/") if "://" in given else given
    path = PurePosixPath(inside)
    if given and not given.endswith(".py"):
        form.fault(field, get_message("fault.not_python", given=given, service=service))
    elif given and ("://" in inside or path.is_absolute() or ".." in path.parts):
        form.fault(field, get_message("fault.outside_code", given=given))
    return str(path)


def requirements_of(boot_file: str, code: str) -> tuple[Install, ...]:
    """Return the requirements files to install, in the code directory and beside the boot file.

    One page of the ModelArts documentation has the file in the code directory, another beside the
    boot file. The service installed ``pip-requirements.txt`` only. A ``requirements.txt`` that
    cannot be installed never failed a job there, so it is optional.
    """
    folders = dict.fromkeys((code, str(PurePosixPath(boot_file).parent)))
    names = {"pip-requirements.txt": False, "requirements.txt": True}
    return tuple(
        Install(f"{folder}/{name}", optional=optional)
        for folder in folders
        for name, optional in names.items()
    )


def last_level(uri: str) -> str:
    """Return the last part of a code directory's path, as the service keeps no other part.

    Return "code" for an archive, and for a part that is not a valid folder name, such as '..'.
    """
    path = uri.split("://", 1)[-1]
    name = PurePosixPath(unquote(path) if uri.startswith("file://") else path).name
    return "code" if not is_name(name) or name.endswith((".tar.gz", ".zip")) else name
