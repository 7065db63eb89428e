"""Command-line entry point of the agent.

Usage: ``python -m danlu.agent --home HOME --job JOB_ID --attempt N --task worker-0``
"""

import logging
import os
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

from danlu import messages
from danlu.agent.reports.log_capture import Redactor, clean_logging, clean_text
from danlu.agent.script import environment
from danlu.agent.script.sandbox_launcher import AgentResources
from danlu.agent.task_runner import run_task
from danlu.errors import Refused
from danlu.job.state import Reason
from danlu.job.status import Failure, Outcome
from danlu.messages import get_message
from danlu.settings import Settings, load
from danlu.taskdir.files import TaskDir
from danlu.taskdir.job_files import LocalJobFiles
from danlu.taskdir.processes import this_agent

log = logging.getLogger("danlu.agent")

_OPTIONS = ("--home", "--job", "--attempt", "--task")


def main(argv: Sequence[str], resources: AgentResources | None = None) -> int:
    given = dict(zip(argv[::2], argv[1::2], strict=False))
    if len(argv) != 2 * len(_OPTIONS) or set(given) != set(_OPTIONS):
        print(
            f"usage: python -m danlu.agent {' '.join(f'{o} …' for o in _OPTIONS)}", file=sys.stderr
        )
        return 2
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    settings = _settings(Path(given["--home"]))
    files = TaskDir(
        LocalJobFiles(settings.jobs / given["--job"]), int(given["--attempt"]), given["--task"]
    )
    return run_agent(files, settings, resources)


def run_agent(files: TaskDir, settings: Settings, resources: AgentResources | None = None) -> int:
    """Run a task and return the exit code of the agent.

    An internal error is logged. If this agent holds the claim, the error becomes the outcome of the
    task.
    """
    messages.use(settings.lang)
    try:
        run_task(files, settings, resources)
    except Exception:
        # run_task may have failed before it called clean_logging.
        clean_logging(Redactor(environment.store_secrets(settings, os.environ)))
        log.exception("the agent failed")
        _write_internal_error(files)
        return 1
    return 0


def _settings(home: Path) -> Settings:
    try:
        return load({"home": home})
    except Refused as error:
        # The settings were readable when the server accepted the job.
        log.warning("settings passed over error=%s", error)
        return Settings(home=home)


def _write_internal_error(files: TaskDir) -> None:
    agent, own = files.agent(), this_agent()
    if agent is None or (agent.pid, agent.started) != (own.pid, own.started):
        return
    fault = Failure(
        detail=get_message("task.agent_failed"), traceback=clean_text(traceback.format_exc())
    )
    files.write_outcome(Outcome(files.attempt, Reason.PLATFORM_FAILED, None, time.time(), fault))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
