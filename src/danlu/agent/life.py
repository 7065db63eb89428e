"""The whole life of a task, from the claim to the outcome."""

import contextlib
import logging
import os
import time
from dataclasses import replace

from danlu.agent import cgroup, kernel, stores
from danlu.agent.bounds import Bounds, Watch
from danlu.agent.child import launch_command
from danlu.agent.commands import run_after, run_before
from danlu.agent.ending import Ending, Interrupted, Why, Wish
from danlu.agent.event_files import CurveReader
from danlu.agent.fences import claimed, is_fenced, meaning
from danlu.agent.heartbeat import Beating
from danlu.agent.install import install
from danlu.agent.meeting import Meeting
from danlu.agent.mirror import Mirror
from danlu.agent.outcome import (
    Verdict,
    failed,
    push_failed,
    say_end,
    tail_of,
    tell,
    told_by,
    without_room,
)
from danlu.agent.port import has_listener
from danlu.agent.prepare import output_folders, prepare, write_hosts, write_launch
from danlu.agent.processes import Processes
from danlu.agent.pump import JobLog
from danlu.agent.redact import Redactor, clean_logging
from danlu.agent.report import Reporter
from danlu.agent.spare import Outfit
from danlu.agent.stage import Stage, code_folder
from danlu.agent.stillness import watch
from danlu.agent.training import Training
from danlu.agent.translation import Reporting
from danlu.agent.verdict import WISHED, Seen, judge
from danlu.agent.workspace import Workspace
from danlu.errors import DanluError, StorageError
from danlu.job.state import Reason
from danlu.job.status import Failure
from danlu.settings import Settings
from danlu.taskdir.files import TaskDir
from danlu.taskdir.process import mark, this_agent

log = logging.getLogger(__name__)

_STORE_BUDGET = 600.0  # seconds to wait for a store that is down before good outputs are given up
_FAILED_BUDGET = 30.0  # the same when there is a failure to tell


def live(files: TaskDir, settings: Settings, outfit: Outfit | None = None) -> None:
    """Claim a task and see it through; leave at once where another has it.

    ``outfit``: what an agent that was born before its task has already.
    """
    agent = this_agent() if outfit is None else outfit.worn_by(this_agent())
    task = claimed(files, settings.home, agent)
    if task is None:
        if outfit is not None:
            outfit.close()
        return
    kernel.become_subreaper()
    if outfit is None:
        outfit = Outfit.ready(f"{task.job_id}-{task.attempt}-{task.name}")
        if outfit.group is not None:
            files.update_agent(outfit.worn_by(agent))
    workspace = Workspace(settings.work.resolve(), task)
    ending = Ending(lambda: meaning(files, task.limits.grace))
    ending.listen()
    beating = Beating(
        files, task.limits, ending, make_room=workspace.spend_reserve, home=settings.home
    )
    beating.start()
    processes = Processes(mark(task.job_id, task.attempt, task.name), outfit.group)
    try:
        _Life(files, settings, workspace, ending, beating, processes, outfit).run()
    finally:
        outfit.doors.close()
        processes.kill()
        beating.close()
        outfit.close()


class _Life:
    def __init__(
        self,
        files: TaskDir,
        settings: Settings,
        workspace: Workspace,
        ending: Ending,
        beating: Beating,
        processes: Processes,
        outfit: Outfit,
    ) -> None:
        self._files = files
        self._settings = settings
        self._workspace = workspace
        self._task = workspace.task
        self._ending = ending
        self._beating = beating
        self._processes = processes
        self._group = outfit.group
        self._secrets = files.take_secrets()
        hidden = (*self._secrets.values(), *stores.secrets(settings, os.environ))
        self._redactor = Redactor(hidden)
        clean_logging(self._redactor)
        writer = files.log_writer(self._task.limits.log)
        self._log = JobLog(writer, Redactor(hidden))
        self._report = Reporter(files)
        self._translation = Reporting(files, workspace.box, self._redactor)
        self._bounds = Bounds(outfit.group, self._task.limits.processes)
        self._stage = Stage(
            workspace, settings, self._secrets, processes, self._log, ending, outfit, self._bounds
        )

    def run(self) -> None:
        """Fetch, run, push, tell. A script that fails has its outputs pushed too."""
        try:
            self._workspace.make()
            self._stage.lay_ground()
            verdict = self._work()
        except Interrupted:
            verdict = self._interrupted()
        except (DanluError, OSError) as error:
            log.exception("not prepared phase=%s", self._report.phase)
            fetching = self._report.phase.startswith("fetch")
            verdict = failed(Reason.FETCH_FAILED if fetching else Reason.PREPARE_FAILED, error)
        self._processes.kill()  # where the start of the script was interrupted
        self._look_at_fence()
        wish = self._ending.wish
        if wish is not None and wish.why is Why.FENCED:
            log.info("fenced: leaving without a word")
            return
        self._translation.carry()
        say_end(verdict, self._log, self._why_stopped())
        tell(
            self._files,
            verdict,
            self._redactor,
            patience=self._task.limits.lost_after,
            make_room=self._make_room,
        )
        log.info("ended reason=%s exit_code=%s", verdict.reason.value, verdict.exit_code)

    def _work(self) -> Verdict:
        # Imported on use: an agent whose task is taken must leave at once.
        from danlu.storage.locate import Stores

        opened = Stores.of(self._settings)
        known = prepare(
            self._settings, opened, self._workspace, self._ending, self._report, self._log
        )
        write_hosts(self._workspace, self._log)
        write_launch(self._workspace, self._log)
        mirror = Mirror(
            opened,
            output_folders(self._workspace),
            known,
            self._ending,
            self._report,
            self._log,
            interval=self._task.limits.mirror,
            scratch=self._workspace.packed,
        )
        self._ending.check()
        verdict = self._run_theirs(mirror)
        if self._is_anothers_turn():
            mirror.close()
            return self._interrupted(verdict.failure)
        return self._push(mirror, verdict)

    def _run_theirs(self, mirror: Mirror) -> Verdict:
        """Run everything of the user's. Their last command runs however the rest ended."""
        try:
            kills = self._memory_kills()
            verdict = run_before(self._stage, lambda status, told: self._judge(status, told, kills))
            if verdict is None:
                install(self._stage, self._settings, self._report)
                self._translation.add(self._stage.relaxed)
                self._translation.carry()
                verdict = self._run_script(mirror)
        except (Interrupted, DanluError, OSError):
            self._run_after()
            raise
        self._run_after()
        return verdict

    def _run_after(self) -> None:
        try:
            run_after(self._stage)
        except (Interrupted, DanluError, OSError) as error:
            log.exception("last command not run")
            self._log.say(f"the finish command could not be run: {error}")

    def _run_script(self, mirror: Mirror) -> Verdict:
        place = self._task.place
        Meeting(self._files, place, self._ending, self._report, self._log).wait()
        self._report.begin("run")
        kills = self._memory_kills()
        child = self._stage.enter(
            launch_command(self._workspace.box.folder), self._stage.environment(), warm=True
        )
        mirror.start()
        self._translation.start()
        training = self._training()
        training.start()
        box, pids = self._workspace.box, self._processes.pids
        still = watch(self._files, self._task, box, self._report, self._log, self._ending, pids)
        still.start()
        bounds = Watch(self._bounds, self._log)
        bounds.start()
        limits = self._task.limits
        try:
            status = child.wait(limits.run, limits.grace)
        finally:
            still.close()
            self._translation.close()
            training.close()
            bounds.close()
        return self._judge(status, child.told, kills)

    def _training(self) -> Training:
        return Training(
            self._files,
            self._workspace.box,
            self._report,
            output_folders(self._workspace),
            CurveReader(self._processes),
            interval=self._task.limits.mirror,
            clean=self._redactor.text,
        )

    def _judge(self, status: int, told: Wish | None, kills: int) -> Verdict:
        ended = time.time()
        box = self._workspace.box
        seen = Seen(
            status,
            told_by(box, self._redactor),
            box.crash(),
            self._memory_kills() - kills,
            tail_of(self._files),
            code_folder(self._workspace),
            self._workspace.full_disk(),
            status != 0 and has_listener(self._task.place.port),
            self._bounds.met() if status != 0 else 0,
        )
        self._translation.carry()
        box.forget()
        wish = self._ending.wish
        reason, failure = judge(seen, wish.why if wish and told else None)
        return Verdict(reason, failure, ended=ended)

    def _push(self, mirror: Mirror, verdict: Verdict) -> Verdict:
        self._report.begin("push")
        good = verdict.reason is Reason.DONE
        try:
            mirror.complete(_STORE_BUDGET if good else _FAILED_BUDGET)
        except Interrupted:
            return self._interrupted(verdict.failure)
        except (DanluError, OSError) as error:
            log.exception("push failed")
            verdict = push_failed(verdict, error)
        files, size = mirror.pushed
        return replace(verdict, pushed_files=files, pushed_bytes=size)

    def _interrupted(self, failure: Failure | None = None) -> Verdict:
        wish = self._ending.settle()
        reason = WISHED[wish.why] if wish is not None else Reason.KILLED
        if reason is Reason.AGENT_LOST and self._beating.lost_to_full_disk:
            return without_room(str(self._settings.home), failure)
        return Verdict(reason, failure)

    def _why_stopped(self) -> str:
        with contextlib.suppress(OSError, StorageError):
            return self._files.stop_why()
        return ""

    def _look_at_fence(self) -> None:
        """Do not wait for a beat: the script may be gone before one has seen that it was raised."""
        with contextlib.suppress(OSError, StorageError):
            if is_fenced(self._files):
                self._ending.ask(Why.FENCED, 0)

    def _is_anothers_turn(self) -> bool:
        self._look_at_fence()
        wish = self._ending.wish
        return wish is not None and wish.why.silent

    def _make_room(self) -> bool:
        return self._workspace.spend_reserve() or self._workspace.clear_scratch()

    def _memory_kills(self) -> int:
        own = self._group.memory_kills() if self._group is not None else 0
        return own + cgroup.machine_memory_kills()
