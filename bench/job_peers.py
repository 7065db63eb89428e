"""Other tools that start jobs: by a program that waits for a line, and by their command."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from environments import programs

TOOLS = Path(__file__).parent / "job_tools"
PYTHON, OURS = "python", "danlu"
VERSIONS = {
    "submitit": "submitit==1.5.4",
    "torchx": "torchx==0.7.0",
    "metaflow": "metaflow==2.19.39",
    "mlflow": "mlflow==3.17.2",
    "ray": "ray[default]==2.60.0",
}
FIRST = """import time

first = time.monotonic()
with open({report!r}, "w") as file:
    file.write(repr(first))
last = time.monotonic()
with open({report!r}, "a") as file:
    file.write(" " + repr(last))
"""
FLOW = """from metaflow import FlowSpec, step


class Flow(FlowSpec):
    @step
    def start(self):
        exec(open({script!r}).read(), {{}})
        self.next(self.end)

    @step
    def end(self):
        pass


if __name__ == "__main__":
    Flow()
"""


def write_scripts(folder: Path) -> None:
    """Write what is run: its first line is the moment that counts."""
    folder.mkdir()
    script = folder / "first.py"
    script.write_text(FIRST.format(report=str(folder / "moments")))
    (folder / "flow.py").write_text(FLOW.format(script=str(script)))
    project = 'name: first\nentry_points:\n  main:\n    command: "python first.py"\n'
    (folder / "MLproject").write_text(project)


@dataclass
class Tool:
    """``command``: what a person types; empty where the tool has none."""

    name: str
    folder: Path
    python: str
    command: Sequence[str]
    env: Mapping[str, str]
    _process: "subprocess.Popen[str] | None" = field(default=None, init=False)

    @property
    def log(self) -> Path:
        return self.folder.parent / f"{self.name}.log"

    def start(self) -> None:
        program = [self.python, str(TOOLS / f"{self.name}_job.py"), str(self.folder)]
        pipe = subprocess.PIPE
        with open(self.log, "ab") as log:
            self._process = subprocess.Popen(
                program, env=self.env, stdin=pipe, stdout=pipe, stderr=log, text=True
            )
        self.env = {**self.env, **self._answer()["env"]}

    def by_program(self) -> float:
        """Return the seconds from the call to the first line."""
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write("go\n")
        self._process.stdin.flush()
        began = float(self._answer()["began"])
        return self.moments()[0] - began

    def moments(self) -> tuple[float, float]:
        """Return when the script began and ended; the report is removed."""
        report = self.folder / "moments"
        first, last = map(float, report.read_text().split())
        report.unlink()
        return first, last

    def close(self) -> None:
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            self._process.wait()

    def _answer(self) -> dict[str, Any]:
        assert self._process is not None
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name} ended:\n{self.log.read_text()[-2000:]}")
        answer: dict[str, Any] = json.loads(line)
        return answer


def tools(folder: Path, only: Sequence[str] = ()) -> list[Tool]:
    """Return ours and every peer; what is not installed is."""
    made = []
    for name in (OURS, *VERSIONS):
        if only and name not in only and name != OURS:
            continue
        ours = name == OURS
        place = Path(sys.executable).parent if ours else programs(name, (VERSIONS[name],))
        own = folder / name
        write_scripts(own)
        script, python = str(own / "first.py"), str(place / "python")
        command = {
            "danlu": [str(place / "danlu"), "run", script],
            "torchx": [str(place / "torchx"), "run", "-s", "local_cwd", "utils.sh", python, script],
            "metaflow": [python, str(own / "flow.py"), "run"],
            "mlflow": [str(place / "mlflow"), "run", "--env-manager", "local", str(own)],
            "ray": [str(place / "ray"), "job", "submit", "--", python, script],
        }.get(name, ())
        made.append(Tool(name, own, python, command, environment(own, place)))
    return made


def environment(folder: Path, place: Path) -> Mapping[str, str]:
    """Return the variables of one tool: its own programs, and no telemetry."""
    kept = {name: os.environ[name] for name in ("HOME", "LANG") if name in os.environ}
    return {
        **kept,
        "PATH": f"{place}:{os.environ['PATH']}",
        "DANLU_HOME": str(folder.parent / "home"),
        "USER": "bench",
        "METAFLOW_DATASTORE_SYSROOT_LOCAL": str(folder),
        "METAFLOW_HOME": str(folder),
        "MLFLOW_TRACKING_URI": f"sqlite:///{folder}/mlflow.db",
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "DO_NOT_TRACK": "true",
        "RAY_AUTH_MODE": "disabled",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_TMPDIR": str(folder),
    }
