"""Shell commands of the user's: one before everything else of theirs, one after."""

from collections.abc import Callable
from dataclasses import replace

from danlu.agent.ending import Wish
from danlu.agent.outcome import Verdict
from danlu.agent.stage import Stage
from danlu.agent.verdict import exit_code
from danlu.job.state import Reason
from danlu.job.status import Failure

_SHELL = "/bin/sh"
_LEAST = 2.0  # seconds for the last command, however long the script took to end


def run_before(stage: Stage, judge: Callable[[int, Wish | None], Verdict]) -> Verdict | None:
    """Run the command before the script; return None when all is well, or none was given."""
    command = stage.workspace.task.command.before
    if not command:
        return None
    stage.log.say("prepare command")
    child = stage.enter([_SHELL, "-c", command], stage.environment())
    limits = stage.workspace.task.limits
    status = child.wait(limits.run, limits.grace)
    verdict = judge(status, child.told)
    if verdict.reason is Reason.DONE:
        return None
    detail = f"The prepare command ended with exit code {exit_code(status)}."
    # The command's fault is not the script's: its line is not to be looked for in the code.
    reason = Reason.PREPARE_FAILED if verdict.reason is Reason.SCRIPT_FAILED else verdict.reason
    return replace(verdict, reason=reason, failure=_with(verdict.failure, detail))


def run_after(stage: Stage) -> None:
    """Run the command after the script, whatever came before; its failure is told, no more.

    Raises: PlatformError, OSError when it could not be started.
    """
    command = stage.workspace.task.command.after
    wish = stage.ending.settle()
    if not command or (wish is not None and wish.why.silent):
        return
    stage.log.say("finish command")
    left = max(stage.ending.left(), _LEAST)
    child = stage.enter([_SHELL, "-c", command], stage.environment(), heard=wish, left=left)
    limits = stage.workspace.task.limits
    code = exit_code(child.wait(limits.run, limits.grace))
    if code:
        stage.log.say(f"The finish command ended with exit code {code}; the job goes on.")


def _with(failure: Failure | None, detail: str) -> Failure:
    return replace(failure or Failure(), detail=detail)
