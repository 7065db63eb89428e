"""What the kernel of this machine allows a task: tried out once by the agent's own sandbox."""

import json
import logging
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from danlu.job.plan import Isolation
from danlu.job.wire import from_wire

log = logging.getLogger(__name__)

PROBE = (sys.executable, "-m", "danlu.agent.sandbox", "--probe")
_PATIENCE = 60.0


def probe(folder: Path, command: Sequence[str] = PROBE) -> Isolation:
    """Return what works for workspaces below ``folder``; a probe that fails means: nothing does."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        done = subprocess.run(
            [*command, str(folder)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            cwd="/",
            timeout=_PATIENCE,
            check=True,
        )
        found = from_wire(Isolation, json.loads(done.stdout))
    except subprocess.CalledProcessError as error:
        log.warning("isolation probe failed exit=%s said=%r", error.returncode, error.stderr[-500:])
        return Isolation()
    except (OSError, subprocess.TimeoutExpired, ValueError, TypeError) as error:
        log.warning("isolation probe failed error=%r", error)
        return Isolation()
    log.info("isolation namespace=%s overlay=%s", found.namespace, found.overlay)
    return found
