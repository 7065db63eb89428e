"""What the kernel of this machine allows a task: tried out once by the agent's own sandbox."""

import json
import logging
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from danlu.errors import Unavailable
from danlu.job.plan import Isolation
from danlu.job.wire import from_wire

log = logging.getLogger(__name__)

PROBE = (sys.executable, "-m", "danlu.agent.sandbox", "--probe")
_PATIENCE = 60.0
_TRIES = 3


def probe(folder: Path, command: Sequence[str] = PROBE) -> Isolation:
    """Return what works for workspaces below ``folder``.

    Raises:
        Unavailable: it could not be found out. That is no answer: a job that expects a place of
            its own must not run without one because a disk was full for a moment.
    """
    error: Exception | None = None
    for _ in range(_TRIES):
        try:
            return _ask(folder, command)
        except subprocess.CalledProcessError as failed:
            log.warning("isolation probe exit=%s said=%r", failed.returncode, failed.stderr[-500:])
            error = failed
        except (OSError, subprocess.TimeoutExpired, ValueError, TypeError) as failed:
            log.warning("isolation probe error=%r", failed)
            error = failed
    raise Unavailable(
        f"What this machine allows a job could not be found out: {error}.",
        hint='See: danlu doctor. With isolation = "none" in the settings nothing is tried.',
    )


def _ask(folder: Path, command: Sequence[str]) -> Isolation:
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [*command, str(folder)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        cwd="/",
        timeout=_PATIENCE,
        check=True,
    )
    answer = json.loads(done.stdout)
    if not isinstance(answer, dict):
        raise ValueError(f"the probe said {done.stdout[:200]!r}")
    found = from_wire(Isolation, answer)
    log.info("isolation namespace=%s overlay=%s", found.namespace, found.overlay)
    return found
