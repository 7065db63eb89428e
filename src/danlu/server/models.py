"""What goes over the wire, as OpenAPI shows it. The names of these classes are part of ``/v1``.

The job model itself is described from its own dataclasses, so it cannot drift; answers are built
by ``views.py`` and not validated again.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from danlu.job.algorithm import Algorithm, Channel, Parameter
from danlu.job.curves import Curve
from danlu.job.dataset import Contents, Dataset
from danlu.job.job import Change
from danlu.job.plan import Task
from danlu.job.spec import JobSpec
from danlu.job.state import JobState, Reason
from danlu.job.status import Steps, TaskStatus

Seconds = Annotated[float, Field(ge=0, le=86_400, allow_inf_nan=False)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class SubmitBody(_Body):
    request: dict[str, Any]
    secrets: dict[str, str] = Field(default_factory=dict)


class PlanBody(_Body):
    request: dict[str, Any]


class StopBody(_Body):
    grace: Seconds | None = None


class RerunBody(_Body):
    parameters: dict[str, Any] = Field(default_factory=dict)
    secrets: dict[str, str] = Field(default_factory=dict)


class CardView(BaseModel):
    """How a known pitfall is cured, in both languages."""

    code: str
    en: str
    zh: str


class CauseView(BaseModel):
    """Why a job ended, in both languages, the command to type next, and the cure if known."""

    code: str
    en: str
    zh: str
    next: str
    card: CardView | None


class HangView(BaseModel):
    """Since when nothing of a running job has moved, in both languages; what to type next."""

    since: float
    en: str
    zh: str
    next: str


class JobSummary(BaseModel):
    """A job without its plan and its tasks, as lists show it."""

    id: str
    name: str
    spec: JobSpec
    created: float
    request: Mapping[str, Any]
    state: JobState
    reason: Reason | None
    attempt: int
    version: int
    notes: tuple[str, ...]
    failed_task: str
    detail: str
    stop_requested: bool
    stop_grace: float | None
    not_before: float
    retried: Mapping[str, int]
    killed_at: Mapping[str, int]
    parent: str
    accepted_by: str
    runs_on: str
    fence: int
    algorithm: Algorithm | None
    datasets: Mapping[str, Dataset]
    history: tuple[Change, ...]
    cause: CauseView | None
    started: float | None
    ended: float | None
    steps: Steps | None
    hang: HangView | None


class JobView(JobSummary):
    plan: tuple[Task, ...]
    tasks: tuple[TaskStatus, ...]


class JobsPage(BaseModel):
    """``next`` is what to give as ``before`` to see older jobs; null at the end."""

    jobs: list[JobSummary]
    next: str | None


class PlanView(BaseModel):
    job: JobView
    tasks: list[Task]
    notes: list[str]


class LineView(BaseModel):
    task: str
    text: str


class LinesView(BaseModel):
    """``partial``: lines that have begun; ``ended``: nothing will follow."""

    lines: list[LineView]
    partial: dict[str, str]
    cursor: str
    ended: bool
    attempt: int


class CurvesView(BaseModel):
    """Numbers a job has written as summaries; ``ended``: nothing will follow."""

    job: str
    name: str
    attempt: int
    ended: bool
    curves: list[Curve]
    left_out: int


class NoteView(BaseModel):
    """``line`` is 0 where no line is meant."""

    file: str
    line: int
    text: str


class TranslationView(BaseModel):
    """What old code needed to run here; ``ended``: nothing will follow."""

    job: str
    name: str
    attempt: int
    tensorflow: str
    ended: bool
    repaired: list[NoteView]
    mapped: list[NoteView]
    relaxed: list[NoteView]
    gone: list[NoteView]
    left_out: int


class DefineBody(_Body):
    """``definition``: the fields of an algorithm, or of a data set."""

    name: str
    definition: dict[str, Any]


class AlgorithmView(BaseModel):
    """One version; ``versions`` are the numbers there are, newest first."""

    name: str
    version: int
    created: float
    code: str
    boot_file: str
    code_origin: str
    description: str
    flavor: str
    inputs: tuple[Channel, ...]
    outputs: tuple[Channel, ...]
    parameters: tuple[Parameter, ...]
    parameters_customization: bool
    versions: list[int]


class AlgorithmsList(BaseModel):
    """The newest version of each."""

    algorithms: list[Algorithm]


class DatasetView(BaseModel):
    """``contents``: what lay there when the version was made; ``now``: what lies there."""

    name: str
    version: int
    created: float
    uri: str
    contents: Contents
    description: str
    versions: list[int]
    now: Contents


class DatasetsList(BaseModel):
    datasets: list[Dataset]


class CodeView(BaseModel):
    uri: str


class NodeView(BaseModel):
    host: str
    cpus: float
    memory: int
    gpus: int


class CapacityView(BaseModel):
    """``nodes`` of a cluster; empty where the server's machine is all there is."""

    cpus: float
    memory: int
    gpus: tuple[str, ...]
    nodes: tuple[NodeView, ...] = ()


class HelloView(BaseModel):
    """Only ``api`` is told to those who did not show the token."""

    api: int
    version: str = ""
    pid: int = 0
    home: str = ""
    url: str = ""
    started: float = 0
    living: int | None = None
    server: str = ""  # its name, where several share the records
    records: str = ""  # where they are, without the password; empty: in the home


class FaultView(BaseModel):
    field: str
    message: str


class ErrorDetail(BaseModel):
    code: str
    message: str
    hint: str
    faults: list[FaultView] = Field(default_factory=list)


class ErrorView(BaseModel):
    error: ErrorDetail
