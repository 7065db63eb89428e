"""What was asked for, in our own words: every dialect ends here."""

from collections.abc import Mapping
from dataclasses import dataclass, field

MACHINE_RETRIES = 5


@dataclass(frozen=True)
class Resources:
    """What each node of a job needs. A flavor, where named, has been filled in already."""

    nodes: int = 1
    cpus: float = 1.0
    memory: int = 0  # bytes; 0: not accounted for
    gpus: int = 0
    flavor: str = ""


@dataclass(frozen=True)
class JobSpec:
    """One job, whatever service it was written for.

    ``params`` keep their order and their text; an empty text is a value, and each dialect says
    what becomes of it. ``inputs`` and ``outputs`` map the name the script knows to a URI.
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
    retries: int = MACHINE_RETRIES  # for machine causes only
    priority: int = 0
    timeout: float = 0  # seconds of running; 0: none
    tensorflow: str = ""  # the version the script sees, 'auto' until that is settled; "": whatever
    max_steps: int = 0  # training ends after so many; 0: where the script ends it
    options: Mapping[str, str] = field(default_factory=dict)  # what one dialect alone knows
