"""A home of its own, a plan in it, and the real agent on that plan."""

import contextlib
import os
import subprocess
import sys
import tarfile
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

import pytest

from danlu.job.job import new_id
from danlu.job.plan import Command, Fetch, Install, Isolation, Limits, Place, Push, Task
from danlu.job.status import Outcome
from danlu.sandbox.cgroup import ControlGroup, own_groups
from danlu.taskdir.files import TaskDir, raise_fence
from danlu.taskdir.job_files import LocalJobFiles
from danlu.taskdir.processes import mark, task_pids

CODE = "/home/ma-user/modelarts/user-job-dir/code"
LIMITS = Limits(heartbeat=0.05, grace=5, mirror=0.1)


@dataclass
class Bench:
    """One job on one machine; each attempt of it is an agent of its own."""

    home: Path
    isolation: Isolation
    before: list[str] = field(default_factory=list)  # words before the agent's command
    job_id: str = field(default_factory=new_id)
    limits: Limits = LIMITS
    owner: int = -1  # who runs the agent
    running: list["subprocess.Popen[bytes]"] = field(default_factory=list)

    def code(self, files: Mapping[str, str]) -> str:
        """Pack a program as an upload would; return its URI."""
        folder = self.home / "store" / "code"
        folder.mkdir(parents=True, exist_ok=True)
        packed = folder / "new.tar.gz"
        with tarfile.open(packed, "w:gz") as archive:
            for name, text in files.items():
                source = self.home / "source"
                source.write_text(textwrap.dedent(text), encoding="utf-8")
                archive.add(source, name)
        digest = sha256(packed.read_bytes()).hexdigest()
        packed.rename(folder / f"{digest}.tar.gz")
        return f"danlu://code/{digest}.tar.gz"

    def plan(
        self,
        script: str = "",
        *,
        modules: Mapping[str, str] | None = None,
        attempt: int = 1,
        secrets: Mapping[str, str] | None = None,
        args: tuple[str, ...] = (),
        fetch: tuple[Fetch, ...] = (),
        push: tuple[Push, ...] = (),
        **command: object,
    ) -> TaskDir:
        """Write down a task that runs ``script``; paths are given as the service knows them."""
        root = "" if self.isolation.private_paths else str(self.workspace(attempt) / "root")
        packed = self.code({"train.py": script, **(modules or {})})
        code = Fetch(packed, CODE, "code", archive=True)
        values: dict[str, object] = {
            "run": f"{root}{CODE}/train.py",
            "args": args,
            "private": ("/cache", "/home/ma-user", "/opt/ml"),
            "fetch": tuple(Fetch(f.uri, root + f.to, f.what, f.archive) for f in (code, *fetch)),
            "push": tuple(replace(p, path=root + p.path) for p in push),
            **command,
        }
        place = Place("worker", 0, root=root, isolation=self.isolation)
        task = Task(
            self.job_id,
            "a-job",
            "modelarts",
            attempt,
            place,
            Command(**values),  # type: ignore[arg-type]
            self.limits,
            tuple(secrets or ()),
        )
        store = LocalJobFiles(self.home / "jobs" / self.job_id)
        files_of_task = TaskDir(store, attempt, task.name)
        raise_fence(store, attempt)
        files_of_task.write_plan(task, secrets or {})
        return files_of_task

    def workspace(self, attempt: int = 1) -> Path:
        return self.home / "work" / self.job_id / str(attempt) / "worker-0"

    def start(self, files: TaskDir) -> "subprocess.Popen[bytes]":
        workspace = self.workspace(files.attempt)
        workspace.mkdir(parents=True, exist_ok=True)
        if self.owner >= 0:
            for path in (self.home, *self.home.rglob("*")):
                # A temporary file of an agent that runs may be renamed meanwhile.
                with contextlib.suppress(FileNotFoundError):
                    os.chown(path, self.owner, self.owner, follow_symlinks=False)
        own = ["--home", str(self.home), "--job", self.job_id]
        own += ["--attempt", str(files.attempt), "--task", files.task]
        with open(workspace / "agent.log", "ab") as output:
            process = subprocess.Popen(
                [*self.before, sys.executable, "-m", "danlu.agent", *own],
                cwd="/",
                env={**os.environ, "DANLU_HOME": str(self.home)},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self.running.append(process)
        return process

    def run(self, files: TaskDir) -> Outcome:
        """Run an agent to its end and return its output."""
        process = self.start(files)
        process.wait(60)
        outcome = files.outcome()
        assert outcome is not None, (self.workspace(files.attempt) / "agent.log").read_text()
        return outcome

    def log(self, files: TaskDir) -> str:
        return files.log_reader().read(0, 1 << 22).data.decode(errors="replace")

    def processes(self, attempt: int = 1) -> list[int]:
        return list(task_pids(mark(self.job_id, attempt, "worker-0")))

    def close(self) -> None:
        for process in self.running:
            if process.poll() is None:
                process.kill()
            process.wait()
        for pid in task_pids(f"{self.job_id}/"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)
        self._remove_groups()

    def _remove_groups(self) -> None:
        """Those of agents we killed."""
        parents = filter(None, own_groups("", "pids"))
        for folder in (f for p in parents for f in p.glob(f"danlu-{self.job_id}-*")):
            group = ControlGroup(folder)
            until(lambda group=group: not group.pids())
            group.remove()


def until(condition: Callable[[], object], *, seconds: float = 100) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.01)


@pytest.fixture(name="until")
def until_fixture() -> Callable[..., None]:
    return until


KINDS = {
    "root": Isolation("root", overlay=True),
    "user": Isolation("user", overlay=True),
    "nobody": Isolation("user", overlay=True),  # the same without any rights, as on a laptop
    "copies": Isolation("user", overlay=False),
    "none": Isolation(),
}
NOBODY_UID = 65534


def make_bench(home: Path, kind: str) -> Bench:
    home.mkdir()
    made = Bench(home, KINDS[kind])
    if kind == "nobody":
        reachable = [os.path.realpath(path) for path in (sys.base_prefix, home)]
        wrapper = str(Path(__file__).with_name("unprivileged.py"))
        made.before = [sys.executable, wrapper, *reachable, "--"]
        made.owner = NOBODY_UID
    return made


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """The best this machine offers; ``each_bench`` for all the others."""
    made = make_bench(tmp_path / "home", "root" if os.geteuid() == 0 else "user")
    yield made
    made.close()


@pytest.fixture(params=list(KINDS))
def each_bench(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Bench]:
    if request.param in ("root", "nobody") and os.geteuid() != 0:
        pytest.skip("only root can")
    made = make_bench(tmp_path / "home, with: marks", request.param)
    yield made
    made.close()


@pytest.fixture(scope="module")
def bench_at() -> Iterator[Callable[[Path, str], Bench]]:
    """Makes benches in a home that is there already; several may share it."""
    made: list[Bench] = []

    def make(home: Path, kind: str) -> Bench:
        made.append(Bench(home, KINDS[kind]))
        return made[-1]

    yield make
    for bench in made:
        bench.close()


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only place uv looks at; no network."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    folder.chmod(0o755)
    for name in list(os.environ):
        if name.startswith(("PIP_", "UV_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("UV_FIND_LINKS", str(folder))
    monkeypatch.setenv("UV_OFFLINE", "1")
    cache = tmp_path / "uv-cache"
    cache.mkdir()
    cache.chmod(0o777)
    monkeypatch.setenv("UV_CACHE_DIR", str(cache))
    return folder


@pytest.fixture
def asking() -> Callable[..., TaskDir]:
    return plan_with_packages


def plan_with_packages(
    bench: Bench,
    script: str,
    requirements: str = "",
    *,
    package: bool = False,
    optional: bool = False,
    modules: Mapping[str, str] | None = None,
    **command: object,
) -> TaskDir:
    """Plan a task whose code has a requirements file, or is a package itself."""
    root = "" if bench.isolation.private_paths else str(bench.workspace() / "root")
    named = {"requirements.txt": requirements} if requirements else {}
    path = root + CODE if package else f"{root}{CODE}/requirements.txt"
    install = (Install(path, package, optional),)
    return bench.plan(script, modules={**named, **(modules or {})}, install=install, **command)
