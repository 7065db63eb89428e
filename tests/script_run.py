"""A job on a stage: its script is run and judged as an agent would, without agent and server."""

import linecache
import os
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import danlu_runtime
from danlu.agent.outcome import ExitEvidence, diagnose, last_lines, read_failure
from danlu.agent.reports.log_capture import Redactor
from danlu.dialects import modelarts
from danlu.job.job import Change, Job
from danlu.job.plan import Place, Task
from danlu.job.state import JobState, Reason
from danlu.job.status import Outcome, TaskStatus
from danlu.service.diagnosis.cause import explain
from danlu.taskdir.exchange_dir import ExchangeDir, Launch

LAUNCHER = Path(danlu_runtime.__file__).with_name("launch.py")


class Stage:
    """One task of a job: its folders are made, its script is run and judged as an agent would."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.request = {
            "dialect": "modelarts",
            "name": "mnist",
            "code": "obs://bucket/code",
            "boot_file": "train.py",
        }
        self.dialect = ""
        self.roles = ("worker",)
        self.attempt = 1

    def asks(self, **fields):
        self.request |= fields
        return self

    def job(self):
        spec = modelarts.read(self.request)
        spec = replace(spec, dialect=self.dialect or spec.dialect)
        peers = {role: ("127.0.0.1:2222",) for role in self.roles} if len(self.roles) > 1 else {}
        plan = []
        for role in reversed(self.roles):
            place = Place(role, 0, job_id="j", root=str(self.folder), peers=peers)
            command = modelarts.command(spec, place)
            plan.append(Task("j", "mnist", spec.dialect, self.attempt, place, command))
        return Job("j", "mnist", spec, created=0, plan=tuple(plan))

    def run(self, script, files=None, **env):
        """Run ``script`` and return why its job ended."""
        command = self.prepare({"train.py": script, **(files or {})})
        code = command.fetch[0].to
        box = ExchangeDir(self.folder / "box")
        box.write_launch(Launch(command.run, command.args, False, command.sys_path, code))
        done = subprocess.run(
            [sys.executable, str(LAUNCHER), str(box.folder)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=code,
            env={**os.environ, "PYTHONUNBUFFERED": "1", **command.env, **env},
        )
        status = done.returncode << 8 if done.returncode >= 0 else -done.returncode
        seen = ExitEvidence(
            status,
            read_failure(box, Redactor(())),
            box.crash(),
            lines=last_lines(done.stdout),
            code=code,
        )
        return self.ends(*diagnose(seen, None))

    def provoke(self, script):
        """Run ``script`` in this process, which may have TensorFlow, and return why it failed."""
        from danlu_runtime.reports.failure import describe

        command = self.prepare({"train.py": script})
        code = command.fetch[0].to
        path = os.path.join(code, "train.py")
        program = compile(Path(path).read_text(encoding="utf-8"), path, "exec")
        before, sys.argv = sys.argv, [path, *command.args]
        sys.modules["tensorflow"].compat.v1.reset_default_graph()
        linecache.clearcache()
        try:
            exec(program, {"__name__": "__main__", "__file__": path})
        except Exception as error:
            return self.ends(
                *diagnose(ExitEvidence(1 << 8, describe(code, error), code=code), None)
            )
        finally:
            sys.argv = before
        raise AssertionError("nothing went wrong")

    def prepare(self, files):
        """Make the folders of the job and write its code; return its command."""
        command = self.job().plan[0].command
        for path in (*command.folders, *(item.to for item in command.fetch)):
            Path(path).mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            path = Path(command.fetch[0].to, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text), encoding="utf-8")
        return command

    def ends(self, reason, failure=None, pushed=0, kept=None):
        job = self.job()
        state = JobState.SUCCEEDED if reason is Reason.DONE else JobState.FAILED
        outcome = Outcome(self.attempt, reason, None, 2, failure, pushed_files=pushed, kept=kept)
        task = job.plan[0].place
        return explain(
            replace(
                job,
                state=state,
                reason=reason,
                attempt=self.attempt,
                tasks=(TaskStatus(task.role, 0, outcome=outcome),),
                failed_task="" if failure is None else task.task,
                history=(Change(JobState.RUNNING, 1, 1), Change(state, 2, 1, reason)),
            )
        )


def card(cause):
    return cause.card and cause.card.code
