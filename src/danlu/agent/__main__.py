"""``python -m danlu.agent --home HOME --job JOB_ID --attempt N --task worker-0``"""

import logging
import os
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

from danlu.agent import stores
from danlu.agent.life import live
from danlu.agent.redact import Redactor, clean_logging, cleaned
from danlu.agent.spare import Outfit
from danlu.errors import Refused
from danlu.job.state import Reason
from danlu.job.status import Failure, Outcome
from danlu.settings import Settings, load
from danlu.taskdir.files import TaskDir
from danlu.taskdir.local import FileCarrier
from danlu.taskdir.process import this_agent

log = logging.getLogger("danlu.agent")

_OPTIONS = ("--home", "--job", "--attempt", "--task")


def main(argv: Sequence[str], outfit: Outfit | None = None) -> int:
    given = dict(zip(argv[::2], argv[1::2], strict=False))
    if len(argv) != 2 * len(_OPTIONS) or set(given) != set(_OPTIONS):
        print(
            f"usage: python -m danlu.agent {' '.join(f'{o} …' for o in _OPTIONS)}", file=sys.stderr
        )
        return 2
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    settings = _settings(Path(given["--home"]))
    files = TaskDir(
        FileCarrier(settings.jobs / given["--job"]), int(given["--attempt"]), given["--task"]
    )
    return see_through(files, settings, outfit)


def see_through(files: TaskDir, settings: Settings, outfit: Outfit | None = None) -> int:
    """Live a task; where the fault is ours, say so. Returns the exit code of the agent."""
    try:
        live(files, settings, outfit)
    except Exception:
        # It may have failed before it did so.
        clean_logging(Redactor(stores.secrets(settings, os.environ)))
        log.exception("the agent failed")
        _tell_own_fault(files)
        return 1
    return 0


def _settings(home: Path) -> Settings:
    try:
        return load({"home": home})
    except Refused as error:
        # The job was accepted under settings that could be read.
        log.warning("settings passed over error=%s", error)
        return Settings(home=home)


def _tell_own_fault(files: TaskDir) -> None:
    agent, own = files.agent(), this_agent()
    if agent is None or (agent.pid, agent.started) != (own.pid, own.started):
        return
    fault = Failure(detail="The agent failed.", traceback=cleaned(traceback.format_exc()))
    files.end(Outcome(files.attempt, Reason.PLATFORM_FAILED, None, time.time(), fault))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
