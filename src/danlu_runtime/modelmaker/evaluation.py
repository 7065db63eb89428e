"""The evaluation process beside a training on several machines."""

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
from danlu.messages import get_message
from danlu.taskdir.exchange_dir import ExchangeDir, Launch
from danlu_runtime.modelmaker import machines
from danlu_runtime.reports.notes import print_message

_OVER = b"over"  # sent to the evaluator at the end of the training


_FROM_OUTSIDE = (signal.SIGINT, signal.SIGKILL, signal.SIGTERM)


_AGAIN = 3  # number of restarts after the evaluator was killed from outside


class Evaluation:
    """The evaluator process, as managed by the chief.

    It runs beside the chief and reads checkpoints in the directory of the chief. No other machine
    needs that directory, and its files are kept with the chief's outputs.
    """

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
        """Check that the evaluator runs; restart it if it was killed.

        Raises:
            Refused: the evaluator failed; the message has the reason.
            SystemExit: the evaluator was killed too often. The chief exits with the same signal
                code and is retried.
        """
        code = self._process.poll()
        if code is None or code == 0:
            return
        if code > 0 or -code not in _FROM_OUTSIDE:
            raise Refused.from_key(
                "modelmaker.evaluation_failed", failure=_described(self._box.failure(), code)
            )
        if not self._left:
            print_message(get_message("modelmaker.evaluator_again", code=-code))
            sys.exit(128 - code)
        self._left -= 1
        self._clear()
        print_message(get_message("modelmaker.evaluator_restarted", code=-code))
        self._process = self._start()

    def finish(self) -> None:
        """Evaluate the last checkpoint and wait for the evaluator. Raises like ``check``."""
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
                "CUDA_VISIBLE_DEVICES": "",  # the chief has allocated the memory of its GPU
            },
        )


def training_is_over() -> threading.Event:
    """Return an event that is set at the end of the training; used by the evaluator.

    The chief sends the end. If the chief is gone, the evaluator exits.
    """
    over = threading.Event()

    def listen() -> None:
        received = b""
        while more := os.read(0, len(_OVER)):  # Python cannot exit while sys.stdin is being read
            received += more
        if received != _OVER:
            os._exit(1)  # the chief is gone
        over.set()

    threading.Thread(target=listen, name="listen", daemon=True).start()
    return over


def _box(run: str, job: str) -> ExchangeDir:
    """Return an exchange directory for the evaluator, separate from that of the chief.

    The evaluator starts as the chief did, and reports its own failure there.
    """
    own = os.environ.get("DANLU_BOX", "")
    if own:
        launch = ExchangeDir(Path(own)).launch()
    else:
        launch = Launch(run, (job,), False, (), os.path.dirname(run), functions=True)
    box = ExchangeDir(Path(own or tempfile.mkdtemp(prefix="danlu-")) / "evaluator")
    box.write_launch(launch)
    return box


def _described(failure: Failure | None, code: int) -> str:
    if failure is None:
        key = "modelmaker.ended_signal" if code < 0 else "modelmaker.ended_code"
        return get_message(key, code=abs(code))
    where: Any = failure.frames[-1] if failure.frames else None
    place = f" ({where.file}:{where.line})" if where else ""
    kind = "" if failure.exception == "SystemExit" else f"{failure.exception}: "
    return f"{kind}{failure.message}{place}".rstrip(".")
