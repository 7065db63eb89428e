"""Pydantic models of requests and responses, as shown in the OpenAPI document.

The class names are part of ``/v1``. The models reuse the dataclasses of the job model, so that the
two cannot differ. The routes build their responses themselves; these are not validated again.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from danlu.job.definitions import Algorithm, Channel, Contents, Dataset, Parameter
from danlu.job.job import Change
from danlu.job.plan import Task
from danlu.job.spec import JobSpec
from danlu.job.state import JobState, Reason
from danlu.job.status import Curve, Kept, Steps, TaskStatus, Unstored

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


class RestoreBody(_Body):
    dry_run: bool = False


class RerunBody(_Body):
    """``changes``: fields of the request to replace; tables such as ``outputs`` are merged."""

    parameters: dict[str, Any] = Field(default_factory=dict)
    changes: dict[str, Any] = Field(default_factory=dict)
    same_output: bool = False
    secrets: dict[str, str] = Field(default_factory=dict)


class RestoredView(BaseModel):
    """What was brought back at one output, by path; ``kept_as``: the set of what it replaced."""

    uri: str
    restored: list[str]
    same: list[str]
    size: int
    kept_as: str


class ReturnedView(BaseModel):
    """What was brought back of what a job had replaced in its outputs."""

    job: str
    name: str
    dry_run: bool
    outputs: list[RestoredView]


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


class ShortenedView(BaseModel):
    """Training ends after ``steps`` (0: where the script ends it, which has no TensorFlow).

    ``rehearsal``: the outputs are removed with the job.
    """

    steps: int
    rehearsal: bool


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
    unstored: tuple[Unstored, ...]
    kept_at: tuple[str, ...]
    stored_later: float
    waits: str
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
    shortened: ShortenedView | None


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


class FileView(BaseModel):
    """``path``: relative, and safe below any folder; ``source`` and ``key``: how to ask for it."""

    path: str
    size: int
    etag: str
    source: str
    key: str


class FilesView(BaseModel):
    """What a job has left. ``problems``: sentences on outputs that could not be listed;
    ``removed``: kept files that are gone, because of their age or to free space."""

    job: str
    name: str
    files: list[FileView]
    problems: list[str]
    kept: Kept | None
    removed: int


class UploadView(BaseModel):
    """``error`` is empty where all is stored, and while it is ``running``."""

    running: bool
    done: int
    total: int
    error: str


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
    """Without the token, only ``api`` is set."""

    api: int
    version: str = ""
    pid: int = 0
    home: str = ""
    url: str = ""
    started: float = 0
    living: int | None = None
    server: str = ""  # its name, if several servers share a database
    records: str = ""  # address of the database without the password; empty: in the home


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
