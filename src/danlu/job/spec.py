"""The specification of a job, which every dialect produces."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from danlu.messages import get_message

MACHINE_RETRIES = 5
REHEARSAL = 3  # steps, enough to build, train, save and evaluate once


@dataclass(frozen=True)
class Resources:
    """The resources of each node of a job. Values of a named flavor are already filled in."""

    nodes: int = 1
    cpus: float = 1.0
    memory: int = 0  # bytes; 0: not accounted for
    gpus: int = 0
    flavor: str = ""


@dataclass(frozen=True)
class JobSpec:
    """The specification of a job, independent of the service it was written for.

    ``params`` keep their order and their text. An empty text is a value that each dialect
    interprets. ``inputs`` and ``outputs`` map a name that the script uses to a URI.
    """

    name: str
    dialect: str
    code: str  # URI of a .tar.gz archive or of a directory
    entry: str
    params: tuple[tuple[str, str], ...] = ()
    inputs: Mapping[str, str] = field(default_factory=dict)
    outputs: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()  # names of environment variables; values are never in a spec
    resources: Resources = Resources()
    retries: int = MACHINE_RETRIES  # for failures of the machine only
    priority: int = 0
    timeout: float = 0  # seconds of running; 0: none
    tensorflow: str = ""  # the version the script sees, 'auto' until resolved; "": any
    max_steps: int = 0  # training ends after this step; 0: when the script ends it
    rehearsal: bool = False  # outputs are temporary and removed with the job
    scratch: str = ""  # of a rehearsal: the URI below which everything is written
    options: Mapping[str, str] = field(default_factory=dict)  # specific to the dialect


TENSORFLOW_1 = "1.15.5"
TENSORFLOW_2 = "2.15.0"  # the last version with Keras 2
UNDECIDED = "auto"  # until the code has been inspected
NOT_OURS = "none"  # the value with which users keep their own TensorFlow

# The services use several notations: '1.14', 'TF-1.13.1-python3.6', 'tensorflow 2.1.0'.
_VERSION = re.compile(
    r"(?:(?:tf|tensorflow)[-_ ]?)?([12])(?:\.(\d{1,3}))?(?:\.(\d{1,3}))?(?:rc\d+|[-+_ ].*)?",
    re.IGNORECASE,
)


def parse(text: str) -> str | None:
    """Return a full version ('1.14.0' for '1.14'), or None if it is not TensorFlow 1 or 2."""
    found = _VERSION.fullmatch(text.strip())
    if found is None:
        return None
    major, minor, patch = found.groups()
    if minor is None:
        return TENSORFLOW_1 if major == "1" else TENSORFLOW_2
    return f"{major}.{int(minor)}.{int(patch or 0)}"


def is_first(version: str) -> bool:
    """Return True if scripts of this version use the names and graphs of TensorFlow 1."""
    return version.startswith("1.")


# A URL of an object store in a text.
URL = re.compile(r"\b(?:obs|s3|ks3|cos)://[^\s'\",]+")
ARGUMENTS = "job_args"  # option with the arguments of a KDL job as one text
KNOWN = ("name", "id")
_WORD = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")


def with_own_folders(spec: JobSpec, job_id: str) -> tuple[JobSpec, list[tuple[str, str]]]:
    """Return the spec with all placeholders of its outputs replaced, and the errors.

    The known placeholders of URLs among the arguments are replaced too. Other words in braces stay
    there, because scripts use them: ``weights.{epoch}.h5``.
    """
    faults: list[tuple[str, str]] = []
    values = {"name": spec.name, "id": job_id}
    outputs = {name: _filled(name, uri, values, faults) for name, uri in spec.outputs.items()}

    def filled(text: str) -> str:
        return URL.sub(lambda url: _filled("", url[0], values, []), text)

    params = tuple((name, filled(text)) for name, text in spec.params)
    arguments = {key: filled(text) for key, text in spec.options.items() if key == ARGUMENTS}
    options = {**spec.options, **arguments}
    return replace(spec, outputs=outputs, params=params, options=options), faults


def has_own_folder(uri: str) -> bool:
    """Return True if two jobs with this output write to different places."""
    return any(word in KNOWN for word in _WORD.findall(uri))


def unquoted(uri: str, path: str) -> str:
    """Return the URI of a path, with the placeholders of the path no longer percent-encoded."""
    for word in _WORD.findall(path):
        uri = uri.replace(f"%7B{word}%7D", f"{{{word}}}")
    return uri


def _filled(output: str, uri: str, values: Mapping[str, str], faults: list[tuple[str, str]]) -> str:
    unknown = [word for word in _WORD.findall(uri) if word not in values]
    if unknown:
        known = ", ".join(f"{{{word}}}" for word in KNOWN)
        faults.append(
            (
                output,
                get_message("fault.placeholder", unknown=f"{{{unknown[0]}}}", uri=uri, known=known),
            )
        )
    return _WORD.sub(lambda found: values.get(found[1], found[0]), uri)
