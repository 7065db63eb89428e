"""Runs a task from its claim to its outcome."""

import contextlib
import logging
import time
from collections.abc import Callable
from dataclasses import replace

from danlu.agent.context import TaskContext, claimed_task
from danlu.agent.control import (
    Interrupted,
    StopReason,
    StopRequest,
    is_fenced,
)
from danlu.agent.inputs import prepare
from danlu.agent.kept_files import with_remains
from danlu.agent.outcome import (
    REASON_OF_STOP,
    ExitEvidence,
    TaskResult,
    diagnose,
    disk_full_result,
    exit_code,
    failed,
    log_outcome,
    push_failed,
    read_failure,
    read_log_tail,
    write_outcome,
)
from danlu.agent.outputs import OutputSync
from danlu.agent.packages.install import install
from danlu.agent.reports.hang_detector import watch
from danlu.agent.reports.progress import CurveReader, TrainingMonitor, TranslationSync
from danlu.agent.script import temporary_dirs
from danlu.agent.script.child import launch_command
from danlu.agent.script.processes import ProcessLimitMonitor
from danlu.agent.script.sandbox_launcher import AgentResources
from danlu.agent.script.task_sandbox import TaskSandbox, code_folder
from danlu.agent.start_barrier import has_listener, wait_for_peers
from danlu.errors import DanluError, StorageError
from danlu.job.state import Reason
from danlu.job.status import Failure
from danlu.messages import get_message
from danlu.sandbox import cgroup
from danlu.settings import Settings
from danlu.taskdir.files import TaskDir

_SHELL = "/bin/sh"
_MIN_TIMEOUT = 2.0  # minimum seconds for the finish command, however long the script took to stop


def run_before(
    stage: TaskSandbox, diagnosis: Callable[[int, StopRequest | None], TaskResult]
) -> TaskResult | None:
    """Run the prepare command. Return None if it succeeded or if there is none."""
    command = stage.workspace.task.command.before
    if not command:
        return None
    stage.log.write_line(get_message("log.prepare_command"))
    child = stage.start_process([_SHELL, "-c", command], stage.environment())
    limits = stage.workspace.task.limits
    status = child.wait(limits.run, limits.grace)
    result = diagnosis(status, child.request)
    if result.reason is Reason.DONE:
        return None
    detail = get_message("task.prepare_failed", status=exit_code(status))
    # The failure is not one of the script, so it must not be located in the script's code.
    reason = Reason.PREPARE_FAILED if result.reason is Reason.SCRIPT_FAILED else result.reason
    return replace(result, reason=reason, failure=_with_detail(result.failure, detail))


def run_after(stage: TaskSandbox) -> None:
    """Run the finish command, whatever the result of the script. Its failure is only logged.

    It is skipped if the task may no longer write outputs.

    Raises: PlatformError, OSError if it could not be started.
    """
    command = stage.workspace.task.command.after
    request = stage.stop_signal.current_request()
    if not command or (request is not None and request.why.forbids_writes):
        return
    stage.log.write_line(get_message("log.finish_command"))
    left = max(stage.stop_signal.grace_left(), _MIN_TIMEOUT)
    child = stage.start_process(
        [_SHELL, "-c", command], stage.environment(), request=request, left=left
    )
    limits = stage.workspace.task.limits
    code = exit_code(child.wait(limits.run, limits.grace))
    if code:
        stage.log.write_line(get_message("log.finish_failed", code=code))


def _with_detail(failure: Failure | None, detail: str) -> Failure:
    return replace(failure or Failure(), detail=detail)


log = logging.getLogger(__name__)

# Seconds to wait for an unavailable store after the script has failed.
_FAILED_BUDGET = 30.0
_NAMED = 5  # folders with copies of replaced objects that the log names


def run_task(files: TaskDir, settings: Settings, resources: AgentResources | None = None) -> None:
    """Claim a task and run it to its outcome. Return at once if another agent has it.

    ``resources``: the resources that a spare agent already has.
    """
    with claimed_task(files, settings, resources) as context:
        if context is not None:
            _TaskRunner(context).run()


class Watchers:
    """The threads that run beside the script, from ``with`` to its end.

    The output sync goes on after that; the caller completes it.
    """

    def __init__(
        self, context: TaskContext, mirror: OutputSync, translation: TranslationSync
    ) -> None:
        training = TrainingMonitor(
            context.files,
            context.workspace.box,
            context.report,
            context.outputs,
            CurveReader(context.processes),
            interval=context.task.limits.mirror,
            args=context.task.command.args,
            clean=context.redactor.text,
        )
        limits = ProcessLimitMonitor(context.process_limits, context.log)
        hang = watch(context)
        self._started = (mirror, translation, training, hang, limits)
        self._closed = (hang, translation, training, limits)  # in this order

    def __enter__(self) -> None:
        for watcher in self._started:
            watcher.start()

    def __exit__(self, *_: object) -> None:
        for watcher in self._closed:
            watcher.close()


class _TaskRunner:
    """Runs one claimed task."""

    def __init__(self, context: TaskContext) -> None:
        self._context = context
        self._files = context.files
        self._workspace = context.workspace
        self._task = context.task
        self._stop_signal = context.stop
        self._log = context.log
        self._report = context.report
        self._translation = TranslationSync(context.files, context.workspace.box, context.redactor)
        self._mirror: OutputSync | None = None  # set once a user command may have run
        self._stage = TaskSandbox(context)

    def run(self) -> None:
        """Fetch inputs, run the script, upload outputs and write the outcome.

        The outputs of a script that failed are uploaded too.
        """
        try:
            self._workspace.make()
            self._stage.send_base_mounts()
            result = self._work()
        except Interrupted:
            result = self._interrupted()
        except (DanluError, OSError) as error:
            log.exception("not prepared phase=%s", self._report.phase)
            fetching = self._report.phase.startswith("fetch")
            result = failed(Reason.FETCH_FAILED if fetching else Reason.PREPARE_FAILED, error)
        self._context.processes.kill()  # in case the start of the script was interrupted
        self._check_fence()
        request = self._stop_signal.request
        if request is not None and request.why is StopReason.FENCED:
            log.info("attempt superseded, exiting without outcome")
            return
        self._translation.sync()
        self._report_kept()
        if self._mirror is not None:
            result = with_remains(self._context, result, self._mirror.sums)
        log_outcome(result, self._log, self._task.job_name, self._why_stopped())
        write_outcome(
            self._files,
            result,
            self._context.redactor,
            timeout=self._task.limits.lost_after,
            free_space=self._free_space,
        )
        log.info("ended reason=%s exit_code=%s", result.reason.value, result.exit_code)

    def _work(self) -> TaskResult:
        held = prepare(self._context)
        mirror = OutputSync(
            self._context.stores,
            self._context.outputs,
            held.known,
            self._stop_signal,
            self._report,
            self._log,
            interval=self._task.limits.mirror,
            scratch=self._workspace.packed,
            written=held.written,
        )
        self._stop_signal.check()
        result = self._run_user_commands(mirror)
        if self._may_not_write():
            mirror.close()
            return self._interrupted(result.failure)
        return self._push(mirror, result)

    def _run_user_commands(self, mirror: OutputSync) -> TaskResult:
        """Run the user's commands and the script. The finish command runs in any case."""
        self._mirror = mirror
        try:
            kills = self._memory_kills()
            result = run_before(
                self._stage, lambda status, stopped: self._diagnose(status, stopped, kills)
            )
            if result is None:
                install(self._stage)
                self._translation.add(self._stage.relaxed)
                self._translation.sync()
                result = self._run_script(mirror)
        except (Interrupted, DanluError, OSError):
            self._run_after()
            raise
        self._run_after()
        return result

    def _run_after(self) -> None:
        try:
            run_after(self._stage)
        except (Interrupted, DanluError, OSError) as error:
            log.exception("finish command not run")
            self._log.write_line(get_message("log.finish_not_run", error=error))

    def _run_script(self, mirror: OutputSync) -> TaskResult:
        wait_for_peers(self._context)
        self._report.begin("run")
        kills = self._memory_kills()
        child = self._stage.start_process(
            launch_command(self._workspace.box.folder), self._stage.environment(), warm=True
        )
        self._report.started(self._stage.isolated(child.missing))
        limits = self._task.limits
        with Watchers(self._context, mirror, self._translation):
            status = child.wait(limits.run, limits.grace)
        return self._diagnose(status, child.request, kills)

    def _diagnose(self, status: int, stopped: StopRequest | None, kills: int) -> TaskResult:
        ended = time.time()
        box = self._workspace.box
        seen = ExitEvidence(
            status,
            read_failure(box, self._context.redactor),
            box.crash(),
            self._memory_kills() - kills,
            read_log_tail(self._files),
            code_folder(self._workspace),
            self._workspace.full_disk(),
            status != 0 and has_listener(self._task.place.port),
            self._context.process_limits.limit_reached() if status != 0 else 0,
        )
        self._translation.sync()
        box.delete_reports()
        request = self._stop_signal.request
        reason, failure = diagnose(seen, request.why if request and stopped else None)
        if failure is not None:
            covered, root = self._workspace.temporary, str(self._workspace.root)
            hidden = temporary_dirs.hidden_path(covered, failure.message, root)
            failure = replace(failure, hidden=hidden)
        return TaskResult(reason, failure, ended=ended)

    def _push(self, mirror: OutputSync, result: TaskResult) -> TaskResult:
        self._report.begin("push")
        good = result.reason is Reason.DONE
        try:
            budget = self._task.limits.store
            mirror.finish(budget if good else min(budget, _FAILED_BUDGET))
            result = replace(result, stored=True)
        except Interrupted:
            return self._interrupted(result.failure)
        except (DanluError, OSError) as error:
            log.exception("push failed")
            result = push_failed(result, error)
        files, size = mirror.pushed
        return replace(result, pushed_files=files, pushed_bytes=size)

    def _interrupted(self, failure: Failure | None = None) -> TaskResult:
        request = self._stop_signal.current_request()
        reason = REASON_OF_STOP[request.why] if request is not None else Reason.KILLED
        if reason is Reason.AGENT_LOST and self._context.heartbeat.lost_to_full_disk:
            return disk_full_result(str(self._context.settings.home), failure)
        return TaskResult(reason, failure)

    def _report_kept(self) -> None:
        folders = list(map(self._context.redactor.text, self._workspace.box.kept_at()))
        self._report.kept(folders)
        for uri in folders[:_NAMED]:
            self._log.write_line(get_message("log.replaced", uri=uri, job=self._task.job_name))
        if len(folders) > _NAMED:
            more = len(folders) - _NAMED
            self._log.write_line(get_message("log.replaced_more", count=more))

    def _why_stopped(self) -> str:
        with contextlib.suppress(OSError, StorageError):
            return self._files.stop_why()
        return ""

    def _check_fence(self) -> None:
        """Request a stop if the fence was raised.

        The script may end before the next heartbeat checks the fence.
        """
        with contextlib.suppress(OSError, StorageError):
            if is_fenced(self._files):
                self._stop_signal.request_stop(StopReason.FENCED, 0)

    def _may_not_write(self) -> bool:
        self._check_fence()
        request = self._stop_signal.request
        return request is not None and request.why.forbids_writes

    def _free_space(self) -> bool:
        return self._workspace.spend_reserve() or self._workspace.clear_scratch()

    def _memory_kills(self) -> int:
        group = self._context.resources.group
        own = group.memory_kills() if group is not None else 0
        return own + cgroup.machine_memory_kills()
