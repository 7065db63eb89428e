"""Reads a request field by field and remembers every fault, so that all are told at once.

A field nobody asked for is a fault too: a misspelt option is never silently ignored.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from danlu.errors import MOST_FAULTS, InvalidJob, suggestion
from danlu.job import framework
from danlu.job.job import NAME
from danlu.job.spec import MACHINE_RETRIES, JobSpec, Resources
from danlu.settings import size

FLAG = re.compile(r"[A-Za-z0-9_-]{1,64}")
KEY = re.compile(r"[^\s=\0]{1,256}")
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
URI = re.compile(r"[a-z][a-z0-9]*://.+")

_MOST = 1_000_000_000  # seconds, CPUs: more than anybody means
_MOST_COUNTED = 1_000_000


class Form:
    """``aliases``: other names a service has for a field; faults are told by the one written."""

    def __init__(
        self, request: Mapping[str, Any], aliases: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        self._request = request
        self._aliases = aliases or {}
        self._asked = {"dialect", "algorithm"}  # settled before a dialect reads
        self._faults: list[tuple[str, str]] = []

    def fault(self, field: str, sentence: str) -> None:
        name, dot, rest = field.partition(".")
        self._faults.append((f"{self._written(name)}{dot}{rest}", sentence))

    def done(self, spec: JobSpec) -> JobSpec:
        """Return the spec that was read.

        Raises:
            InvalidJob: anything was wrong; the spec goes with it.
        """
        for field in self._request:
            if field not in self._asked:
                told = len(self._faults) >= MOST_FAULTS  # to look for a name takes time
                near = "" if told else suggestion(str(field), self._asked)
                self.fault(str(field), f"is not a field. {near}".rstrip())
        if self._faults:
            raise InvalidJob(self._faults, partial=spec)
        return spec

    def text(self, field: str, default: str | None = None) -> str:
        value = self._take(field, default)
        if isinstance(value, str) and "\0" in value:
            self.fault(field, "holds a NUL character, which no name and no argument can.")
            return ""
        if isinstance(value, str) and (value or default == ""):
            return value
        self.fault(field, f"must be a non-empty string, got {value!r}.")
        return ""

    def count(self, field: str, default: int, *, least: int = 0, most: int = _MOST_COUNTED) -> int:
        value = self._take(field, default)
        if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
            return value
        bound = (
            f"at most {most}" if isinstance(value, int) and value > most else f"at least {least}"
        )
        self.fault(field, f"must be a whole number of {bound}, got {value!r}.")
        return default

    def anything(self, field: str) -> Any:
        """Return a field as it was given, whatever it is; None when it was not."""
        return self._take(field, None)

    def number(self, field: str, default: float) -> float:
        value = self._take(field, default)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _MOST:
            return float(value)
        self.fault(field, f"must be a number from 0 to {_MOST:,}, got {value!r}.")
        return default

    def bytes(self, field: str) -> int:
        value = self._take(field, 0)
        try:
            return size(value or 0)
        except (TypeError, ValueError):
            self.fault(field, f"must be a size such as '8G', got {value!r}.")
            return 0

    def uri(self, field: str) -> str:
        """An optional URI; empty when it was not given."""
        return self._check_uri(field, self.text(field, ""))

    def uris(self, field: str) -> dict[str, str]:
        """Names of the user's choice, each with its URI."""
        found = {}
        for name, uri in self._pairs(field):
            if not FLAG.fullmatch(name):
                self.fault(f"{field}.{name}", _NO_FLAG.format(name))
            elif not isinstance(uri, str) or not uri:
                self.fault(f"{field}.{name}", f"must be a URI, got {uri!r}.")
            else:
                found[name] = self._check_uri(f"{field}.{name}", uri)
        return found

    def params(self, field: str, *, taken: Iterable[str] = ()) -> tuple[tuple[str, str], ...]:
        """Name and text, in the order given. A name in ``taken`` is a channel's already."""
        found = []
        for name, value in self._pairs(field):
            if not FLAG.fullmatch(name):
                self.fault(f"{field}.{name}", _NO_FLAG.format(name))
            elif name in taken:
                self.fault(f"{field}.{name}", "is the name of an input or output of this job.")
            elif (text := _as_text(value)) is None:
                self.fault(
                    f"{field}.{name}", f"must be text, a number or a boolean, got {value!r}."
                )
            elif "\0" in text:
                self.fault(f"{field}.{name}", "holds a NUL character, which no argument can.")
            else:
                found.append((name, text))
        return tuple(found)

    def values(self, field: str) -> tuple[tuple[str, Any], ...]:
        """Names with values of any JSON type, in the order given."""
        found = []
        for name, value in self._pairs(field):
            if not KEY.fullmatch(name):
                sentence = f"{name!r} is no name: it has 1 to 256 characters, no blank and no '='."
                self.fault(f"{field}.{name}", sentence)
            elif "\0" in str(value):
                self.fault(f"{field}.{name}", "holds a NUL character, which no argument can.")
            else:
                found.append((name, value))
        return tuple(found)

    def variables(self, field: str) -> dict[str, str]:
        """Environment variables."""
        found = {}
        for name, value in self._pairs(field):
            if not VARIABLE.fullmatch(name):
                sentence = "must be letters, digits and underscores, not starting with a digit."
                self.fault(f"{field}.{name}", sentence)
            elif not isinstance(value, str) or "\0" in value:
                self.fault(f"{field}.{name}", f"must be text, got {value!r}.")
            else:
                found[name] = value
        return found

    def names(self, field: str) -> tuple[str, ...]:
        value = self._take(field, [])
        if isinstance(value, list | tuple) and all(isinstance(name, str) for name in value):
            return tuple(value)
        self.fault(field, f"must be a list of names, got {value!r}.")
        return ()

    def common(self) -> dict[str, Any]:
        """What every service's job has, as arguments of JobSpec."""
        return {
            "name": self._name(),
            "env": self.variables("env"),
            "secrets": self.names("secrets"),
            "retries": self.count("retries", MACHINE_RETRIES),
            "priority": self.count("priority", 0, least=-1000),
            "timeout": self.number("timeout", 0),
            "tensorflow": self._tensorflow(),
            "max_steps": self.count("max_steps", 0),
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
            sentence = "must be a version of TensorFlow in quotes such as '1.14', or 'none'"
            self.fault("framework_version", f"{sentence}; got {value!r}.")
        return version or framework.UNDECIDED

    def _name(self) -> str:
        name = self.text("name", "")
        if name and not NAME.fullmatch(name):
            self.fault("name", f"must be 1 to 64 of letters, digits, '-' and '_', got {name!r}.")
        return name

    def _take(self, field: str, default: Any) -> Any:
        names = (field, *self._aliases.get(field, ()))
        first_time = field not in self._asked
        self._asked.update(names)
        given = [name for name in names if self._request.get(name) is not None]
        if first_time and len(given) > 1 and self._request[given[1]] != self._request[given[0]]:
            self._faults.append((given[1], f"was given as {given[0]} already."))
        return self._request[given[0]] if given else default

    def _written(self, field: str) -> str:
        names = (field, *self._aliases.get(field, ()))
        return next((name for name in names if self._request.get(name) is not None), field)

    def _pairs(self, field: str) -> list[tuple[str, Any]]:
        value = self._take(field, {})
        if isinstance(value, Mapping):
            return [(str(name), item) for name, item in value.items()]
        self.fault(field, f"must be names with values, got {value!r}.")
        return []

    def _check_uri(self, field: str, uri: str) -> str:
        if uri and (not URI.fullmatch(uri) or "\0" in uri):
            self.fault(field, f"must be a URI such as obs://bucket/path, got {uri!r}.")
        return uri


_NO_FLAG = "{0!r} is no flag: a name has 1 to 64 letters, digits, '-' and '_'."


def flag(name: str, value: str) -> str:
    """Return ``--name=value``: one word, whatever the value holds."""
    return f"--{name}={value}"


def resources_of(spec: JobSpec) -> Mapping[str, Any]:
    """Return what each task of a node asks for, as arguments of Role."""
    return {
        "cpus": spec.resources.cpus,
        "memory": spec.resources.memory,
        "gpus": spec.resources.gpus,
    }


def _as_text(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else None
