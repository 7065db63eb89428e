"""The evaluator of a training on several machines: a process of its own beside the chief.

It reads checkpoints in the directory they are written to, and its end belongs to the chief's: no
other machine has to see that directory, and what it writes is kept with the chief's outputs.
"""

import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import danlu_runtime
from danlu.errors import Refused
from danlu.job.status import Failure
from danlu.taskdir.box import Box, Launch
from danlu_runtime.modelmaker import machines
from danlu_runtime.notes import say

_OVER = b"over"  # what the evaluator is told at the end of the training
_FROM_OUTSIDE = (signal.SIGINT, signal.SIGKILL, signal.SIGTERM)
_AGAIN = 3  # times it is started anew when somebody has killed it


class Evaluation:
    """The process, seen from the chief."""

    def __init__(self, run: str, job: str) -> None:
        self._box = _box(run, job)
        self._left = _AGAIN
        self._process = self._start()

    def __enter__(self) -> "Evaluation":
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._clear()

    def check(self) -> None:
        """See that it lives.

        Raises:
            Refused: it failed, and says why.
            SystemExit: it is killed again and again: so does the chief end, and is tried again.
        """
        code = self._process.poll()
        if code is None or code == 0:
            return
        if code > 0 or -code not in _FROM_OUTSIDE:
            raise Refused(f"The evaluation failed: {_described(self._box.failure(), code)}.")
        if not self._left:
            say(f"the evaluator was ended by signal {-code} once more")
            sys.exit(128 - code)
        self._left -= 1
        self._clear()
        say(f"the evaluator was ended by signal {-code}, and is started anew")
        self._process = self._start()

    def finish(self) -> None:
        """Let it evaluate the last checkpoint, and wait for it. Raises as ``check`` does."""
        while self._process.poll() != 0:
            try:
                self._process.communicate(_OVER)
            except BrokenPipeError:
                self._process.wait()
            self.check()

    def _clear(self) -> None:
        if self._process.stdin:
            self._process.stdin.close()
        self._process.wait()

    def _start(self) -> subprocess.Popen[bytes]:
        launcher = Path(danlu_runtime.__file__).with_name("launch.py")
        return subprocess.Popen(
            [sys.executable, str(launcher), str(self._box.folder)],
            stdin=subprocess.PIPE,
            env={
                **os.environ,
                "TF_CONFIG": machines.as_evaluator(),
                "CUDA_VISIBLE_DEVICES": "",  # the chief has taken the memory of its card
            },
        )


def training_is_over() -> threading.Event:
    """For the evaluator: return what is set when the chief says so; without a chief it ends."""
    over = threading.Event()

    def listen() -> None:
        told = b""
        while more := os.read(0, len(_OVER)):  # Python cannot end while sys.stdin is read
            told += more
        if told != _OVER:
            os._exit(1)  # the chief is gone
        over.set()

    threading.Thread(target=listen, name="listen", daemon=True).start()
    return over


def _box(run: str, job: str) -> Box:
    """Return a box for it: it starts as the chief did, and tells its failure apart from that."""
    own = os.environ.get("DANLU_BOX", "")
    if own:
        launch = Box(Path(own)).launch()
    else:
        launch = Launch(run, (job,), False, (), os.path.dirname(run), functions=True)
    box = Box(Path(own or tempfile.mkdtemp(prefix="danlu-")) / "evaluator")
    box.write_launch(launch)
    return box


def _described(failure: Failure | None, code: int) -> str:
    if failure is None:
        return f"it ended with {'signal' if code < 0 else 'exit code'} {abs(code)}"
    where: Any = failure.frames[-1] if failure.frames else None
    place = f" ({where.file}:{where.line})" if where else ""
    kind = "" if failure.exception == "SystemExit" else f"{failure.exception}: "
    return f"{kind}{failure.message}{place}".rstrip(".")
